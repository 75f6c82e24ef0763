// Package bisection writes the report of a bisection: Markdown for a mail, a
// plot of the metric over the commits, and JSON.
//
// It knows no git and takes no measurements: all it says is in a [Result]. No
// line of its prose and tables is wider than 72 columns; lines that programs
// read (Fixes:, #regzbot) are never broken.
package bisection

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/google/renameio/v2"

	"spindle/reports/internal/plots"
	"spindle/reports/record"
)

// Result is what a bisection found, in the form of its JSON. Shares are
// fractions: 0.12 is 12 %.
type Result struct {
	Kind        string   `json:"kind"`        // found, unconfirmed, one of, no difference, undecided, unfinished
	Culprits    []Commit `json:"culprits"`    // most probable first
	Probability float64  `json:"probability"` // of Culprits together
	Change      *Change  `json:"change,omitempty"`
	Second      *Second  `json:"second,omitempty"`

	Repo    string   `json:"repo"`
	Good    Commit   `json:"good"`
	Bad     Commit   `json:"bad"`
	GoodRev string   `json:"good_rev"` // as given
	BadRev  string   `json:"bad_rev"`
	Paths   []string `json:"paths,omitempty"`

	Metric    record.MetricInfo `json:"metric"`
	Workload  string            `json:"workload"` // title
	Condition record.Condition  `json:"condition"`
	Virtual   bool              `json:"virtual"`

	Ends    Ends     `json:"ends"`
	Confirm *Confirm `json:"confirm,omitempty"`
	Commits []Commit `json:"commits"` // of the whole history, oldest first

	Boots   Boots            `json:"boots"`
	Seconds float64          `json:"seconds"` // from first to last, stops included
	Dir     string           `json:"dir"`
	Plan    string           `json:"plan"` // path
	Again   []string         `json:"again"`
	Host    *record.Manifest `json:"manifest"`
}

// Commit is one commit of the history, and what is known of it.
type Commit struct {
	ID      string    `json:"id"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	Values  []float64 `json:"values,omitempty"` // samples, in the metric's unit
	Mean    float64   `json:"mean,omitempty"`
	Low     float64   `json:"low,omitempty"` // 95 % interval of the mean; Low = High = 0 for none
	High    float64   `json:"high,omitempty"`
	Culprit float64   `json:"culprit"`        // probability that it made the change
	After   float64   `json:"after"`          // probability that it has the change
	Twin    string    `json:"twin,omitempty"` // a commit with the same kernel, whose samples count for both
	Skip    string    `json:"skip,omitempty"` // why it could not be measured
	Log     string    `json:"log,omitempty"`  // of that, relative to Dir
}

// Short is the commit in twelve digits.
func (c Commit) Short() string { return c.ID[:min(12, len(c.ID))] }

// Change is a difference, with its 95 % interval.
type Change struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	N     int     `json:"n,omitempty"`    // pairs
	Sees  float64 `json:"sees,omitempty"` // the smallest change that would have been seen; 0 if unknown
	Claim bool    `json:"claim"`          // the interval excludes zero
}

// Second is another commit that changed the metric.
type Second struct {
	Probability float64  `json:"probability"` // that there are two changes
	Culprits    []Commit `json:"culprits"`
	Share       float64  `json:"share"`
}

// Ends is what the two ends measured, before the search.
type Ends struct {
	SameKernel bool    `json:"same_kernel,omitempty"`
	Change     Change  `json:"change"`         // bad against good
	Self       *Change `json:"self,omitempty"` // a kernel against itself; nil in virtual time
}

// Confirm is the culprit measured once more.
type Confirm struct {
	Stands  bool         `json:"stands"`
	Parents []Comparison `json:"parents"`          // the culprit against each
	Revert  *Comparison  `json:"revert,omitempty"` // the bad end with the revert against the bad end
	Patch   string       `json:"patch,omitempty"`  // of the revert, relative to Dir
	Why     string       `json:"why,omitempty"`    // there is no revert
}

// Comparison is one kernel against another.
type Comparison struct {
	Base   string `json:"base"` // commit
	Change Change `json:"change"`
}

// Boots counts what it took.
type Boots struct {
	Ends    int `json:"ends"`
	Search  int `json:"search"`
	Confirm int `json:"confirm"`
	Kernels int `json:"kernels"` // made
	Twins   int `json:"twins"`   // of those, kernels that were there under another name
	Skipped int `json:"skipped"` // commits that could not be measured
}

// Names of the files that Write makes.
const (
	MarkdownFile = "bisect.md"
	JSONFile     = "bisect.json"
	PlotFile     = "bisect" // .svg and .png
)

// Write writes the report into a directory.
func Write(dir string, r Result) error {
	text, err := JSON(r)
	if err != nil {
		return err
	}
	pic, err := r.plot().Draw()
	if err != nil {
		return fmt.Errorf("plot bisection: %w", err)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{MarkdownFile, []byte(Markdown(r))}, {JSONFile, text}, {PlotFile + ".svg", pic.SVG}, {PlotFile + ".png", pic.PNG}} {
		if err := renameio.WriteFile(filepath.Join(dir, f.name), f.data, 0o644, renameio.WithTempDir(dir)); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return nil
}

// JSON gives the result for programs.
func JSON(r Result) ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode bisection: %w", err)
	}
	return append(text, '\n'), nil
}

func (r Result) plot() plots.History {
	h := plots.History{Title: plain(r.Metric.Name+" over commits: "+r.Workload) + ", " + plain(r.Condition.String())}
	size, unit := scale(r.Metric.Unit, r.level())
	h.Axis = plain(r.Metric.Name)
	if unit != "" {
		h.Axis += " in " + unit
	}
	for _, c := range r.Commits {
		p := plots.Commit{Mean: nan, Low: nan, High: nan, Skipped: c.Skip != "", Culprit: c.Culprit}
		for _, v := range c.Values {
			p.Values = append(p.Values, v/size)
		}
		if len(c.Values) > 0 {
			p.Mean = c.Mean / size
		}
		if c.High > c.Low {
			p.Low, p.High = c.Low/size, c.High/size
		}
		h.Points = append(h.Points, p)
	}
	return h
}

// Line is the answer in one line.
func (r Result) Line() string { return plain(r.headline()) }
