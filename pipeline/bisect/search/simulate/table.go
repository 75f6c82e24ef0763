package simulate

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

func quantile(x []float64, q float64) float64 {
	slices.Sort(x)
	return x[min(len(x)-1, int(q*float64(len(x))))]
}

// The tables.
const (
	Normal   = "noise"
	Outliers = "outliers"
	Virtual  = "virtual"
	Drift    = "drift"
	Merges   = "merges"
	Same     = "same"
	Two      = "two"
	None     = "none"
)

// titles say what is different in each.
var titles = map[string]string{
	Normal:   "Noise: lognormal",
	Outliers: "Outliers: 5 % of the boots take up to half as long again",
	Virtual:  "Virtual time: what is left is sensitivity to irrelevant changes",
	Drift:    "Drift: the host shifts by three times the noise every six boots",
	Merges:   "Merges: branches of 1 to 12 commits instead of a line",
	Same:     "Same kernels: 70 % of the commits leave the kernel as it was",
	Two:      "Two changes",
	None:     "No change",
}

// Tables are their names, in order.
func Tables() []string {
	return []string{Normal, Outliers, Virtual, Drift, Merges, Same, Two, None}
}

// Cases are all rows of the tables.
func Cases() []Case {
	var out []Case
	grid := func(group string, noises, effects []float64, change func(*World)) {
		for _, noise := range noises {
			for _, effect := range effects {
				w := World{Commits: 1000, Noise: noise, Effect: effect, Unbuildable: 0.05}
				if change != nil {
					change(&w)
				}
				cost := 1.0
				if d := effect / noise; d > 0 {
					cost = min(12, max(1, 4.5/(d*d)))
				}
				out = append(out, Case{group, w, cost})
			}
		}
	}
	three := []float64{0.05, 0.1, 0.3}
	grid(Normal, []float64{0.01, 0.03, 0.1}, three, nil)
	grid(Outliers, []float64{0.01, 0.03}, three, func(w *World) { w.Outliers = 0.05 })
	grid(Virtual, []float64{0.005, 0.01}, three, nil)
	grid(Drift, []float64{0.01, 0.03}, three, func(w *World) { w.Drift = 3 })
	grid(Merges, []float64{0.01, 0.03}, three, func(w *World) { w.Merges = true })
	grid(Same, []float64{0.01, 0.03}, three, func(w *World) { w.Same = 0.7 })
	grid(Two, []float64{0.01, 0.03}, []float64{0.1, 0.3}, func(w *World) { w.Second = w.Effect / 2 })
	grid(Two, []float64{0.01}, []float64{0.1}, func(w *World) { w.Second = w.Effect })
	grid(None, []float64{0.01, 0.03, 0.1}, []float64{0}, nil)
	return out
}

// Write prints rows as Markdown, a table for each group.
func Write(w io.Writer, rows []Row) error {
	var b strings.Builder
	last := ""
	for _, r := range rows {
		compared := len(r.Git) > 0
		if r.Table != last {
			last = r.Table
			fmt.Fprintf(&b, "\n## %s\n\n", titles[last])
			if compared {
				b.WriteString("| noise | effect | searches | decided | right | boots | p95 | told | builds | git 1 | git 3 | git 5 | git, as good | pass/fail |\n" +
					"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
			} else {
				b.WriteString("| noise | effect | second | searches | no difference | decided | right | boots | p95 | second noticed | both placed |\n" +
					"|---|---|---|---|---|---|---|---|---|---|---|\n")
			}
		}
		s := r.Spindle
		if !compared {
			fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s | %s | %.1f | %.0f | %s | %s |\n", percent(r.Noise), percent(r.Effect), percent(r.World.Second),
				r.Searches, percent(s.None), percent(s.Decided), percent(s.Right), s.Boots, s.P95, percent(s.Second), percent(s.Both))
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | **%.1f** | %.0f | %s | %.1f |", percent(r.Noise), percent(r.Effect),
			r.Searches, percent(s.Decided), percent(s.Right), s.Boots, s.P95, told(r.Told), s.Builds)
		for _, g := range r.Git {
			fmt.Fprintf(&b, " %.1f (%s) |", g.Boots, percent(g.Found))
		}
		if g := r.GitEqual; g.K == 0 {
			b.WriteString(" none |")
		} else {
			way := "mean"
			if g.Median {
				way = "median"
			}
			if g.Paired {
				way = "pairs"
			}
			fmt.Fprintf(&b, " %.1f (%s; %d, ends %d, %s) |", g.Boots, percent(g.Found), g.K, g.Ends, way)
		}
		fmt.Fprintf(&b, " %.1f (%s) |\n", r.PassFail.Boots, percent(r.PassFail.Found))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func told(s Spindle) string {
	if s.Boots == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f (%s)", s.Boots, percent(s.Right))
}

func percent(x float64) string {
	s := fmt.Sprintf("%.1f", 100*x)
	return strings.TrimSuffix(s, ".0") + " %"
}
