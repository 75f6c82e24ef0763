package stat

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLooks(t *testing.T) {
	for most, want := range map[int][]int{1: {3}, 3: {3}, 5: {3, 5}, 10: {3, 5, 7, 10}, 30: {3, 5, 7, 10, 15, 22, 30}} {
		if d := cmp.Diff(want, Auto{Most: most}.Looks()); d != "" {
			t.Errorf("looks of %d blocks (-want +got):\n%s", most, d)
		}
	}
}

func TestAfter(t *testing.T) {
	a := Auto{Most: 30, See: 0.05}
	worse := Verdict{Kind: Worse}
	near := Verdict{Kind: Undecided, Why: Noise, MDE: 0.07, N: 10, Level: 0.99}
	far := Verdict{Kind: Undecided, Why: Noise, MDE: 3, N: 10, Level: 0.99}
	few := Verdict{Kind: Undecided, Why: FewRanks, N: 3, Level: 0.99}
	for name, tt := range map[string]struct {
		blocks         int
		vs             []Verdict
		perBlock, left time.Duration
		next           int
		why            string
	}{
		"decided":       {3, []Verdict{worse, {Kind: NoChange}}, 0, 0, 0, "every comparison was decided after 3 blocks"},
		"too coarse":    {3, []Verdict{{Kind: NoChange, MDE: 0.08, N: 3, Level: 0.99}}, 0, 0, 5, "1 undecided"},
		"broken":        {3, []Verdict{{Kind: Broken}}, 0, 0, 0, "every comparison was decided"},
		"goes on":       {10, []Verdict{worse, near}, 0, 0, 15, "1 undecided after 10 blocks; about"},
		"hopeless":      {10, []Verdict{worse, far}, 0, 0, 0, "more repeats up to the budget of 30 would not decide"},
		"too early":     {7, []Verdict{far}, 0, 0, 10, "1 undecided"},
		"half hopeless": {10, []Verdict{near, far}, 0, 0, 15, "2 undecided"},
		"few":           {3, []Verdict{few}, 0, 0, 5, "1 undecided"},
		"budget":        {30, []Verdict{near}, 0, 0, 0, "the budget of 30 blocks ended with 1 undecided"},
		"time":          {10, []Verdict{near}, time.Minute, 4 * time.Minute, 0, "the budget of time ended after 10 blocks"},
		"time enough":   {10, []Verdict{near}, time.Minute, 6 * time.Minute, 15, "1 undecided"},
	} {
		got := a.After(tt.blocks, tt.vs, tt.perBlock, tt.left)
		if got.Next != tt.next || !strings.Contains(got.Why, tt.why) {
			t.Errorf("%s: %+v, want next %d and %q", name, got, tt.next, tt.why)
		}
	}
}

// An A/A that changes takes all claims back, and nothing else.
func TestVoid(t *testing.T) {
	vs := []*Verdict{{Kind: Worse}, {Kind: Better}, {Kind: NoChange}, {Kind: Broken}}
	Void(vs)
	for i, want := range []Verdict{{Kind: Undecided, Why: Control}, {Kind: Undecided, Why: Control}, {Kind: NoChange}, {Kind: Broken}} {
		if d := cmp.Diff(want, *vs[i]); d != "" {
			t.Errorf("verdict %d (-want +got):\n%s", i, d)
		}
	}
}

// A spread that luck made small is not believed among others that are large,
// and is where nothing else was measured.
func TestJudgeQuiet(t *testing.T) {
	lucky := pairs([]float64{100, 100.1, 99.9}, []float64{118, 118.2, 117.9})
	var cs []Comparison
	for i := range 9 {
		shift := 1 + 0.01*float64(i%3)
		cs = append(cs, Comparison{Pairs: pairs([]float64{100, 120, 100}, []float64{118 * shift, 101, 101}), Family: "runtime"})
	}
	cs = append(cs, Comparison{Pairs: lucky, Family: "runtime"})
	vs := Judge(cs, 0.05)
	if v := vs[9]; v.Kind != Undecided || v.Why != Chance || !strings.Contains(strings.Join(v.Warnings, "\n"), "by luck") {
		t.Errorf("lucky spread among nine wide ones: %+v", v)
	}
	if v := Judge(cs[9:], 0.05)[0]; v.Kind != Worse {
		t.Errorf("the same alone: %+v", v)
	}
	if v := Judge([]Comparison{{Pairs: lucky, Broken: true}}, 0.05)[0]; v.Kind != Broken {
		t.Errorf("broken: %+v", v)
	}
}
