package reports

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// exported is the report for programs. Numbers that do not exist are left out:
// JSON has no NaN and no infinity.
type exported struct {
	Format   int       `json:"format"` // of this JSON
	Verdict  string    `json:"verdict"`
	Name     string    `json:"name"`
	Compared string    `json:"compared"` // axis
	Baseline string    `json:"baseline"`
	Control  string    `json:"control"` // "none", "no change", "changed"
	Done     int       `json:"samples_done"`
	Planned  int       `json:"samples_planned"`
	Claims   []verdict `json:"comparisons"`
	Runs     []ran     `json:"runs"`
	Samples  []sampled `json:"samples"`
}

// ran is one of the runs that the report is of.
type ran struct {
	Name     string   `json:"name"`
	Spindle  string   `json:"spindle"`
	Command  []string `json:"command"`
	Started  string   `json:"started"`
	PlanHash string   `json:"plan_sha256"`
	Seed     uint64   `json:"seed"`
	Accel    string   `json:"accelerator"`
	Host     string   `json:"host"`
}

// verdict is one comparison.
type verdict struct {
	Arm       string            `json:"arm"`
	Condition map[string]string `json:"condition"`
	Metric    string            `json:"metric"`
	Unit      string            `json:"unit"`
	Direction string            `json:"direction"` // "lower" or "higher" is better
	Primary   bool              `json:"primary"`
	Verdict   string            `json:"verdict"`
	Scale     string            `json:"scale"`  // of the numbers below: "ratio" (0.15 is +15 %) or "difference" (in Unit)
	Method    string            `json:"method"` // "paired t", "two-sample t" or "signed ranks"
	Change    *float64          `json:"change,omitempty"`
	Low       *float64          `json:"low,omitempty"`
	High      *float64          `json:"high,omitempty"`
	Level     float64           `json:"level"`
	SD        *float64          `json:"pair_sd,omitempty"`       // of one pair's distance: log ratio or difference
	DF        *float64          `json:"df,omitempty"`            // degrees of freedom of pair_sd
	Seen      *float64          `json:"smallest_seen,omitempty"` // with 80 % power
	P         *float64          `json:"p,omitempty"`
	Q         *float64          `json:"q,omitempty"`
	Pairs     int               `json:"pairs"`
	Base      spreadOf          `json:"baseline"`
	This      spreadOf          `json:"values"`
	Notes     []string          `json:"notes,omitempty"`
}

// spreadOf describes the samples of a cell.
type spreadOf struct {
	N      int      `json:"n"`
	Mean   *float64 `json:"mean,omitempty"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Median *float64 `json:"median,omitempty"`
	SD     *float64 `json:"sd,omitempty"`
	CV     *float64 `json:"cv,omitempty"`
	Min    *float64 `json:"min,omitempty"`
	Max    *float64 `json:"max,omitempty"`
}

// sampled is one sample.
type sampled struct {
	Block     int                `json:"block"`
	Arm       string             `json:"arm"`
	Condition map[string]string  `json:"condition"`
	Outcome   string             `json:"outcome"`
	Reason    string             `json:"reason,omitempty"`
	Files     string             `json:"files"`
	Values    map[string]float64 `json:"values,omitempty"` // by metric, in its unit
}

func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// positive leaves out what does not exist where it is zero.
func positive(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return number(v)
}

func spreadOfStat(s stat.Summary) spreadOf {
	return spreadOf{s.N, number(s.Mean), number(s.Low), number(s.High), number(s.Median), number(s.SD), number(s.CV), number(s.Min), number(s.Max)}
}

// named gives a condition's axes that are not empty.
func named(c record.Condition) map[string]string {
	out := map[string]string{}
	for k, v := range map[string]string{"drive": c.Drive, "filesystem": c.Filesystem, "scheduler": c.Scheduler, "workload": c.Workload, "arm": c.Setup} {
		if v != "" {
			out[k] = v
		}
	}
	return out
}

func (a *analysis) json() ([]byte, error) {
	p := &page{analysis: a}
	s := a.summary()
	e := exported{
		Format: 1, Verdict: s.Line(), Name: a.manifest.Name, Compared: a.manifest.Compare, Baseline: a.baseline(),
		Control: map[control]string{uncontrolled: "none", steady: "no change", shaken: "changed"}[a.control],
		Done:    s.Done, Planned: s.Planned, Claims: []verdict{}, Samples: []sampled{},
	}
	for _, r := range a.runs {
		m := r.manifest
		e.Runs = append(e.Runs, ran{r.name, m.Spindle, m.Command, m.Started.UTC().Format("2006-01-02T15:04:05Z"), m.Plan.Hash, m.Seed, m.Machine.Accel, m.Machine.Host.CPU})
	}
	for _, k := range a.comparisons {
		v := k.verdict
		e.Claims = append(e.Claims, verdict{
			Arm: k.arm, Condition: named(k.condition), Metric: k.metric.Name, Unit: k.metric.Unit, Direction: string(k.metric.Direction), Primary: k.metric.Primary,
			Verdict: string(k.finding()), Scale: map[stat.Scale]string{stat.Ratio: "ratio", stat.Difference: "difference"}[v.Scale],
			Method: map[stat.Method]string{stat.ByT: "paired t", stat.ByTwoSamples: "two-sample t", stat.ByRanks: "signed ranks"}[v.Method],
			Change: number(v.Change), Low: number(v.Low), High: number(v.High), Level: v.Level, SD: positive(v.SD), DF: positive(v.DF), Seen: number(v.MDE), P: number(v.P), Q: number(v.Q), Pairs: v.N,
			Base: spreadOfStat(a.describe(a.baseline(), k.condition, k.metric)), This: spreadOfStat(a.describe(k.arm, k.condition, k.metric)),
			Notes: plainAll(p.allDoubts(k)),
		})
	}
	for _, x := range a.samples {
		m := sampled{Block: x.Block, Arm: x.Arm, Condition: named(x.Condition), Outcome: x.Outcome.Kind, Reason: x.Outcome.Reason, Files: a.places[spot{x.Block, x.Cell}].name}
		for _, v := range x.Metrics {
			if m.Values == nil {
				m.Values = map[string]float64{}
			}
			m.Values[v.Name] = v.Value
		}
		e.Samples = append(e.Samples, m)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return b.Bytes(), err
}

// plainAll gives texts of the report without its escapes and spaces.
func plainAll(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, plainText(t))
	}
	return out
}

func plainText(s string) string {
	return strings.ReplaceAll(text.Unescape(s), text.NBSP, " ")
}
