package simulate

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A few rows, with few searches: right in at least 95 % of what is decided, and
// in fewer boots than the cheapest of the others that is right as often. The
// whole tables are in simulation.md.
func TestAhead(t *testing.T) {
	for _, w := range []World{
		{Noise: 0.01, Effect: 0.05},
		{Noise: 0.03, Effect: 0.1},
		{Noise: 0.03, Effect: 0.3, Outliers: 0.05},
		{Noise: 0.01, Effect: 0.1, Drift: 3},
	} {
		w.Commits, w.Unbuildable = 1000, 0.05
		row, err := Run(t.Context(), Case{World: w, Cost: 1}, 40, 2)
		if err != nil {
			t.Fatal(err)
		}
		s := row.Spindle
		t.Logf("%+v: %.1f boots, right %.3f of %.3f; git %.1f, pass/fail %.1f (%.3f)", w, s.Boots, s.Right, s.Decided, row.GitEqual.Boots, row.PassFail.Boots, row.PassFail.Found)
		if s.Right < 0.95 || s.Decided < 0.95 {
			t.Errorf("%+v: right in %.3f of %.3f decided", w, s.Right, s.Decided)
		}
		if row.GitEqual.K > 0 && row.GitEqual.Boots <= s.Boots {
			t.Errorf("%+v: %.1f boots, git bisect run %.1f", w, s.Boots, row.GitEqual.Boots)
		}
		if s.Found-row.PassFail.Found < 0.05 && row.PassFail.Boots <= s.Boots {
			t.Errorf("%+v: %.1f boots, passes and failures %.1f", w, s.Boots, row.PassFail.Boots)
		}
	}
}

// Two changes are noticed, and a metric that did not change gives no culprit.
func TestOtherStories(t *testing.T) {
	two, err := Run(t.Context(), Case{World: World{Commits: 1000, Noise: 0.01, Effect: 0.1, Second: 0.1, Unbuildable: 0.05}, Cost: 1}, 20, 3)
	if err != nil {
		t.Fatal(err)
	}
	if s := two.Spindle; s.Right < 0.95 || s.Second < 0.7 {
		t.Errorf("two changes: %+v", s)
	}
	none, err := Run(t.Context(), Case{World: World{Commits: 1000, Noise: 0.01, Unbuildable: 0.05}, Cost: 1}, 40, 3)
	if err != nil {
		t.Fatal(err)
	}
	if s := none.Spindle; s.None < 0.95 || s.Decided > 0.05 {
		t.Errorf("no change: %+v", s)
	}
}

// The others are not made worse than they are: without noise both find every
// culprit, git in the logarithm of the commits and the two ends.
func TestPeersWithoutNoise(t *testing.T) {
	const n = 256
	for i := range 60 {
		h := World{Commits: n, Noise: 1e-6, Effect: 0.1}.draw(rand.New(rand.NewPCG(4, uint64(i))))
		if o := h.gitBisect(rand.New(rand.NewPCG(5, 0)), script{k: 1, ends: 1}); !o.right || o.size != 1 || o.boots != 8+2 {
			t.Errorf("git bisect: %+v", o)
		}
		j := judge{1, defaultBefore, defaultAfter, 0.95}
		if o := h.passFail(rand.New(rand.NewPCG(5, 1)), j, newGammas(j)); !o.right || o.boots > 8+8 {
			t.Errorf("passes and failures: %+v", o)
		}
	}
}

// What does not build is skipped by all, and never blamed alone.
func TestUnbuildable(t *testing.T) {
	for i := range 60 {
		h := World{Commits: 200, Noise: 1e-6, Effect: 0.1, Unbuildable: 0.3}.draw(rand.New(rand.NewPCG(6, uint64(i))))
		j := judge{1, defaultBefore, defaultAfter, 0.95}
		git, pass := h.gitBisect(rand.New(rand.NewPCG(7, 0)), script{k: 1, ends: 1}), h.passFail(rand.New(rand.NewPCG(7, 1)), j, newGammas(j))
		// The culprit, the run it is in or behind.
		from, to := h.culprit, h.culprit
		for from > 1 && h.broken[from-1] {
			from--
		}
		for h.broken[to] {
			to++
		}
		for name, o := range map[string]outcome{"git bisect": git, "passes and failures": pass} {
			if !o.right || o.size != to-from+1 {
				t.Errorf("%s: %+v, want one of %d", name, o, to-from+1)
			}
		}
	}
}

func TestDraw(t *testing.T) {
	var broken, runs, same, all float64
	for i := range 100 {
		h := World{Commits: 1000, Unbuildable: 0.05, Same: 0.7, Effect: 0.1, Merges: i%2 == 0}.draw(rand.New(rand.NewPCG(8, uint64(i))))
		for c := 1; c <= 1000; c++ {
			all++
			if h.broken[c] {
				broken++
				if !h.broken[c-1] {
					runs++
				}
			}
			if h.image[c] != c {
				same++
			}
		}
		if h.image[h.culprit] != h.culprit || h.level[1000] == 0 || h.level[0] != 0 {
			t.Errorf("history %d: culprit %d, levels %g and %g", i, h.culprit, h.level[0], h.level[1000])
		}
		for c, level := range h.level {
			if (level != 0) != h.graph.Reachable(c)[h.culprit] {
				t.Fatalf("history %d: level %g of commit %d, culprit %d", i, level, c, h.culprit)
			}
		}
	}
	if share := broken / all; share < 0.04 || share > 0.06 {
		t.Errorf("%.3f do not build", share)
	}
	if length := broken / runs; length < 4 || length > 6 {
		t.Errorf("runs of %.1f", length)
	}
	if share := same / all; share < 0.5 || share > 0.75 {
		t.Errorf("%.3f have the kernel of their parent", share)
	}
}

func TestRunRepeatable(t *testing.T) {
	c := Case{World: World{Commits: 200, Noise: 0.02, Effect: 0.2, Unbuildable: 0.05}, Cost: 1}
	var first Row
	for i := range 2 {
		row, err := Run(t.Context(), c, 10, 5)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = row
		}
		if diff := cmp.Diff(first, row, cmp.AllowUnexported(Peer{})); diff != "" {
			t.Error(diff)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, c, 10, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: %v", err)
	}
}

func TestWrite(t *testing.T) {
	rows := []Row{
		{Case: Case{Table: Normal, World: World{Noise: 0.01, Effect: 0.05}}, Searches: 9,
			Spindle: Spindle{Decided: 1, Right: 1, Boots: 14.06, P95: 18, Builds: 1.5}, Told: Spindle{Boots: 13, Right: 1},
			Git: []Peer{{Boots: 12, Found: 0.5}, {Boots: 36, Found: 1}, {Boots: 60, Found: 1}}, GitEqual: Peer{K: 3, Ends: 3, Median: true, Boots: 36, Found: 1},
			PassFail: Peer{Boots: 16.3, Found: 0.955}},
		{Case: Case{Table: None, World: World{Noise: 0.01}}, Searches: 9, Spindle: Spindle{None: 1, Boots: 10, P95: 12}},
	}
	var b bytes.Buffer
	if err := Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n## Noise: lognormal\n",
		"| 1 % | 5 % | 9 | 100 % | 100 % | **14.1** | 18 | 13.0 (100 %) | 1.5 | 12.0 (50 %) | 36.0 (100 %) | 60.0 (100 %) | 36.0 (100 %; 3, ends 3, median) | 16.3 (95.5 %) |\n",
		"\n## No change\n",
		"| 1 % | 0 % | 0 % | 9 | 100 % | 0 % | 0 % | 10.0 | 12 | 0 % | 0 % |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 15 && strings.Count(line, "|") != 12 {
			t.Errorf("columns: %s", line)
		}
	}
}
