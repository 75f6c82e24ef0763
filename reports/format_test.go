package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/joshdk/go-junit"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

func render(t *testing.T, name, format string, wide bool) []byte {
	t.Helper()
	r, err := Open(runs[name](t).Dir())
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Render(format, wide)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What another's reader of JUnit finds: each comparison once, the right ones
// failed and skipped.
func TestJUnit(t *testing.T) {
	for name, want := range map[string]junit.Totals{
		// Two metrics of two workloads in two arms: all worse.
		"kara": {Tests: 8, Failed: 8},
		// Six conditions, two metrics: what broke and what is worse fails; where
		// the baseline broke nothing is known.
		"broken": {Tests: 12, Failed: 8, Passed: 2, Skipped: 2},
		"alone":  {Tests: 2, Passed: 1, Failed: 1},
	} {
		suites, err := junit.Ingest(render(t, name, "junit", false))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got junit.Totals
		for _, s := range suites {
			s.Aggregate()
			got.Tests += s.Totals.Tests
			got.Passed += s.Totals.Passed
			got.Failed += s.Totals.Failed
			got.Skipped += s.Totals.Skipped
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: totals (-want +got):\n%s", name, d)
		}
	}
}

// What Perl's test harness, the reference reader of TAP, makes of it.
func TestTAP(t *testing.T) {
	proctest.Need(t, "prove")
	file := filepath.Join(t.TempDir(), "report.tap")
	for name, want := range map[string][]string{
		"kara":       {"Failed 8/8 subtests"},
		"broken":     {"Failed 8/12 subtests", "(less 2 skipped subtests: 2 okay)"},
		"awkward":    {"/16 subtests"},
		"cpu-bound":  {"Result:"},
		"three-arms": {"Result: PASS"},
	} {
		if err := os.WriteFile(file, render(t, name, "tap", false), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := proc.Run(t.Context(), proc.Cmd{Path: "prove", Args: []string{"--exec", "cat", file}})
		said := string(out.Stdout) + string(out.Stderr)
		if strings.Contains(said, "Parse errors") {
			t.Errorf("%s: %s (%v)", name, said, err)
		}
		for _, w := range want {
			if !strings.Contains(said, w) {
				t.Errorf("%s: harness said %q (%v), want %q in it", name, said, err, w)
			}
		}
	}
}

// The JSON holds the figures that the mail's readers computed by hand, and
// every sample.
func TestJSON(t *testing.T) {
	var got struct {
		Control     string
		Comparisons []struct {
			Arm, Metric, Verdict string
			Condition            map[string]string
			Pairs                int
			Change, Low, High    *float64
			Values               struct{ Mean, SD, CV *float64 }
		}
		Samples []struct{ Values map[string]float64 }
	}
	if err := json.Unmarshal(render(t, "kara", "json", false), &got); err != nil {
		t.Fatal(err)
	}
	// Means and sd of the mail's runtimes, to the digits of its readers' table.
	want := map[string][2]float64{
		"dd wbt cfq": {101.78, 5.72}, "dd-fsync wbt cfq": {103.52, 1.19},
		"dd wbt deadline": {100.64, 0.22}, "dd-fsync wbt deadline": {105.34, 1.07},
	}
	seen := 0
	for _, c := range got.Comparisons {
		if c.Metric != "runtime" {
			continue
		}
		seen++
		w := want[c.Condition["workload"]+" "+c.Arm]
		if c.Verdict != "worse" || c.Pairs != 3 || c.Change == nil || *c.Low > *c.Change || *c.High < *c.Change {
			t.Errorf("comparison %+v", c)
		}
		if d := [2]float64{fixedTo(*c.Values.Mean), fixedTo(*c.Values.SD)}; d != w {
			t.Errorf("%s %s: mean and sd %v, want %v", c.Condition["workload"], c.Arm, d, w)
		}
	}
	if seen != 4 || len(got.Samples) != 18 || got.Control != "none" {
		t.Errorf("%d runtimes, %d samples, control %q", seen, len(got.Samples), got.Control)
	}
	for name := range runs {
		if out := render(t, name, "json", false); !json.Valid(out) {
			t.Errorf("%s: not JSON", name)
		}
	}
}

func fixedTo(v float64) float64 { return float64(int(v*100+0.5)) / 100 }

// The page is XML, so every tag is closed and every name is escaped; it loads
// nothing from elsewhere and runs nothing.
func TestHTML(t *testing.T) {
	for name := range runs {
		page := render(t, name, "html", false)
		d := xml.NewDecoder(bytes.NewReader(page))
		d.Strict = true
		tags := map[string]int{}
		for {
			tok, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if s, ok := tok.(xml.StartElement); ok {
				tags[s.Name.Local]++
				for _, a := range s.Attr {
					if a.Name.Local == "src" || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") || strings.HasPrefix(a.Name.Local, "on") {
						t.Errorf("%s: <%s %s=%q>", name, s.Name.Local, a.Name.Local, a.Value)
					}
				}
			}
		}
		if tags["script"] > 0 || tags["h1"] != 1 || tags["title"] < 1 {
			t.Errorf("%s: tags %v", name, tags)
		}
	}
}

// What HTML Tidy has to say of a page with plots: nothing.
func TestHTMLValidates(t *testing.T) {
	proctest.Need(t, "tidy")
	for _, name := range []string{"aa", "awkward", "broken"} {
		page := filepath.Join(t.TempDir(), "report.html")
		if err := os.WriteFile(page, render(t, name, "html", false), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := proc.Run(t.Context(), proc.Cmd{Path: "tidy", Args: []string{"-e", "-q", page}})
		if said := string(out.Stdout) + string(out.Stderr); err != nil || said != "" {
			t.Errorf("%s: %s (%v)", name, said, err)
		}
	}
}

// Plain text has no markup and the same width; wide Markdown has no legends in
// place of names.
func TestTextAndWide(t *testing.T) {
	plain := string(render(t, "awkward", "text", false))
	for _, mark := range []string{"\n#", "**", "|--", "\\<"} {
		if strings.Contains(plain, mark) {
			t.Errorf("plain text has %q", mark)
		}
	}
	wide := string(render(t, "awkward", "md", true))
	if strings.Contains(wide, "- (1) ") || !strings.Contains(wide, "| linux-image-6.12.57+deb13-amd64-unsigned |") {
		t.Error("wide Markdown still abbreviates")
	}
	rows, err := csv.NewReader(bytes.NewReader(render(t, "kara", "csv", false))).ReadAll()
	if err != nil || len(rows) != 1+18*2 {
		t.Errorf("CSV has %d rows, %v", len(rows), err)
	}
	r, err := Open(runs["kara"](t).Dir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Render("pdf", false); err == nil || !strings.Contains(err.Error(), "junit") {
		t.Errorf("error %v does not name the formats", err)
	}
}
