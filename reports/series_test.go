package reports

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// seriesOf is a series of so many patches whose arms are all there.
func seriesOf(n int, each bool) Series {
	subjects := []string{
		"writeback: name the time spent in one super block", "writeback: count the chunks of a work item",
		"writeback: let readers in between chunks", "writeback: tell how many chunks a work item took",
		"writeback: say which way the counters count",
	}
	s := Series{
		Title: "writeback: let readers in between chunks", Source: "v2.mbox", Each: each, Base: "vanilla",
		Command: []string{"spindle", "series", "flusher.yaml", "--mbox", "v2.mbox", "--each"},
		Thread: &Thread{
			Subject: "[PATCH v2 0/5] writeback: let readers in between chunks", MessageID: "<cover.1796084326.git.ada@example.org>",
			To: []string{"Ada Maintainer <ada@example.org>"},
			Cc: []string{"linux-fsdevel@vger.kernel.org", "Jörg Müller <joerg@example.org>", "linux-mm@kvack.org", "Smith, John <john@example.org>"},
		},
	}
	for i := range n {
		p := SeriesPatch{Number: i + 1, Subject: subjects[i%len(subjects)], MessageID: fmt.Sprintf("<%d@example.org>", i+1)}
		if each {
			p.Arm = fmt.Sprintf("upto-%d", i+1)
		} else if i == n-1 {
			p.Arm = "series"
		}
		s.Patches = append(s.Patches, p)
	}
	return s
}

// seriesRun is the run of a series whose patch k changes runtimes by the share
// that effect gives; edit makes samples special.
func seriesRun(t *testing.T, s Series, blocks int, effect func(patch int, c record.Condition) float64, edit func(*record.Sample) bool) *Report {
	t.Helper()
	names, number := []string{s.Base}, map[string]int{}
	for _, p := range s.Patches {
		if p.Arm != "" {
			names = append(names, p.Arm)
			number[p.Arm] = p.Number
		}
	}
	m := testManifest("flusher", names...)
	m.Kernels = m.Kernels[:1]
	for i := range m.Arms[1:] {
		a := &m.Arms[1+i]
		a.Kernel = a.Name
		m.Kernels = append(m.Kernels, record.Kernel{Name: a.Name, Source: "linux-source-6.12 + series.mbox", Version: "6.12.57", Hash: strings.Repeat(fmt.Sprintf("%08d", i), 8)})
	}
	cross(&m, blocks, []string{"sata"}, []string{"ext4", "xfs"}, []string{"mq-deadline"}, dd, ddFsync)
	r := create(t, m)
	fill(t, r, ddValues(88, func(c record.Cell) float64 {
		f := 1.0
		for _, p := range s.Patches {
			if p.Number <= number[c.Arm] && effect != nil && p.Problem == "" {
				f *= 1 + effect(p.Number, c.Condition)
			}
		}
		return f - 1
	}), edit)
	rep, err := Open(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// third is a series of five of which the third makes dd slower.
func third(p int, c record.Condition) float64 {
	if p == 3 && c.Workload == "dd" {
		return 0.14
	}
	return 0
}

// broke makes samples of an arm broken.
func broke(s *record.Sample, arm, reason, detail, log string, line int) {
	if s.Arm == arm {
		s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: reason, Detail: detail, Log: log, Line: line}
		s.Metrics, s.Settings = nil, nil
	}
}

// gates are what golden replies are made of.
var gates = map[string]func(*testing.T) *Gate{
	"third": func(t *testing.T) *Gate {
		s := seriesOf(5, true)
		return s.Judge(seriesRun(t, s, 5, third, nil))
	},
	"whole": func(t *testing.T) *Gate {
		s := seriesOf(5, false)
		return s.Judge(seriesRun(t, s, 5, third, nil))
	},
	"harmless": func(t *testing.T) *Gate {
		s := seriesOf(2, true)
		s.Reuse = &Reuse{From: "/old", Taken: 8, Kept: 6, Notes: []string{"sata ext4 mq-deadline dd: fresh samples differ from old ones by +0.2 %"}}
		return s.Judge(seriesRun(t, s, 5, nil, nil))
	},
	"single": func(t *testing.T) *Gate {
		s := seriesOf(1, true)
		s.Thread = nil
		return s.Judge(seriesRun(t, s, 4, func(int, record.Condition) float64 { return -0.2 }, nil))
	},
	// The second does not build, the third is then measured with it; the fourth
	// panics on xfs, and the fifth does so too.
	"breaks": func(t *testing.T) *Gate {
		s := seriesOf(5, true)
		return s.Judge(seriesRun(t, s, 4, third, func(x *record.Sample) bool {
			broke(x, "upto-2", "build", "build: mm/page-writeback.c:12: error: expected ';' before 'return'", "build.log", 1)
			if x.Condition.Filesystem == "xfs" {
				broke(x, "upto-4", "panic", "Kernel panic - not syncing: Attempted to kill init!", record.ConsoleLog, 388)
				broke(x, "upto-5", "panic", "Kernel panic - not syncing: Attempted to kill init!", record.ConsoleLog, 391)
			}
			return true
		}))
	},
	"left-out": func(t *testing.T) *Gate {
		s := seriesOf(4, true)
		s.Patches[1].Arm, s.Patches[1].Problem = "", `patch 2 of 4 "writeback: count the chunks of a work item" does not apply to v6.12: patch failed: fs/fs-writeback.c:43`
		return s.Judge(seriesRun(t, s, 4, nil, nil))
	},
	"nothing-applies": func(*testing.T) *Gate {
		s := seriesOf(2, true)
		for i := range s.Patches {
			s.Patches[i].Arm, s.Patches[i].Problem = "", "patch failed: fs/fs-writeback.c:43"
		}
		return s.Judge(nil)
	},
	// Five times two percent, of which none can be seen.
	"drip": func(t *testing.T) *Gate {
		s := seriesOf(5, true)
		return s.Judge(seriesRun(t, s, 4, func(int, record.Condition) float64 { return 0.006 }, nil))
	},
	"partial": func(t *testing.T) *Gate {
		s := seriesOf(3, true)
		left := 40
		return s.Judge(seriesRun(t, s, 5, third, func(*record.Sample) bool { left--; return left >= 0 }))
	},
}

// verdicts are what the golden replies come to.
var verdicts = map[string]struct {
	line      string // a part
	failed    bool
	sentences []sentence
}{
	"third":           {"patch 3/5 'writeback: let readers in between chunks': worse in 2 of 4 conditions", true, []sentence{harmless, harmless, madeWorse, harmless, harmless}},
	"whole":           {"the series: worse in 2 of 4 conditions", true, nil},
	"harmless":        {"the series: no change in 3 of 4 conditions (1.6 % would have shown), undecided in 1", false, []sentence{harmless, harmless}},
	"single":          {"the patch: better in 4 of 4 conditions", false, []sentence{madeBetter}},
	"breaks":          {"patch 2/5 'writeback: count the chunks of a work item': does not build", true, []sentence{harmless, brokeKernel, madeWorse, brokeKernel, stillBroken}},
	"left-out":        {"patch 2/4 'writeback: count the chunks of a work item': does not apply", true, []sentence{harmless, notApplied, harmless, harmless}},
	"nothing-applies": {"patch 1/2 'writeback: name the time spent in one super block': does not apply", true, []sentence{notApplied, notApplied}},
	"drip":            {"no single patch stands out", true, nil},
	"partial":         {"patch 3/3", true, nil},
}

func checkVerdict(t *testing.T, name string, g *Gate) {
	t.Helper()
	want, ok := verdicts[name]
	if !ok {
		t.Fatalf("nothing says what %s comes to", name)
	}
	if got := g.Line(); !strings.Contains(got, want.line) {
		t.Errorf("line %q, want %q in it", got, want.line)
	}
	if g.Failed() != want.failed {
		t.Errorf("failed %v, want %v", g.Failed(), want.failed)
	}
	if want.sentences == nil {
		return
	}
	var got []sentence
	for _, p := range g.patches {
		got = append(got, p.sentence())
	}
	if d := cmp.Diff(want.sentences, got); d != "" {
		t.Errorf("sentences (-want +got):\n%s", d)
	}
}

func TestSeriesGolden(t *testing.T) {
	for name, make := range gates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := make(t)
			checkVerdict(t, name, g)
			junit, err := g.JUnit()
			if err != nil {
				t.Fatal(err)
			}
			for ext, got := range map[string][]byte{"mail": g.Reply(), "md": g.Markdown(), "junit.xml": junit, "tap": g.TAP()} {
				if ext == "mail" || ext == "md" {
					for line := range strings.Lines(string(got)) {
						if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 72 {
							t.Errorf("%s: line of %d columns: %q", ext, n, line)
						}
					}
					if strings.Contains(string(got), "ested-by") {
						t.Errorf("%s hands out a tag", ext)
					}
				}
				path := filepath.Join("testdata", "series", name+"."+ext)
				if *update {
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, got, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), string(got)); d != "" {
					t.Errorf("%s (-want +got):\n%s", path, d)
				}
			}
		})
	}
}

// Patch 3 is measured with patch 2, which does not build, and so named.
func TestSeriesAcrossGap(t *testing.T) {
	g := gates["breaks"](t)
	for _, s := range g.patches[2].steps {
		if g.number(s) != "2-3" || s.view.baseline() != "upto-1" {
			t.Errorf("%v: patches %s against %s, want 2-3 against upto-1", s.condition, g.number(s), s.view.baseline())
		}
	}
	// What the fifth inherits is not its fault; on ext4 it is judged.
	for _, s := range g.patches[4].steps {
		if xfs := s.condition.Filesystem == "xfs"; xfs != (s.since == 4) || !xfs && s.verdict.Kind != stat.NoChange {
			t.Errorf("%v: since %d, %v", s.condition, s.since, s.verdict.Kind)
		}
	}
}

// A base that breaks everywhere says nothing of the patches.
func TestSeriesBaseBroke(t *testing.T) {
	s := seriesOf(2, true)
	g := s.Judge(seriesRun(t, s, 3, nil, func(x *record.Sample) bool {
		broke(x, "vanilla", "panic", "Kernel panic", record.ConsoleLog, 3)
		return true
	}))
	if g.Unknown() == "" || g.Failed() {
		t.Errorf("unknown %q, failed %v; want it unknown", g.Unknown(), g.Failed())
	}
}

func TestSeriesHeaders(t *testing.T) {
	s := Series{Thread: &Thread{
		Subject: "[PATCH 0/2] Grüße\r\nBcc: everyone@example.org", MessageID: "<a@b>", References: []string{"<x@y>"},
		To: []string{"Jörg <j@example.org>", "plain@example.org", "Evil <e@example.org>\nBcc: x@example.org"},
	}}
	got := s.Judge(nil).headers()
	want := "To: =?utf-8?q?J=C3=B6rg?= <j@example.org>, plain@example.org,\n Evil <e@example.org> Bcc: x@example.org\n" +
		"Subject: =?utf-8?q?Re:_[PATCH_0/2]_Gr=C3=BC=C3=9Fe_Bcc:_everyone@example.org?=\n" +
		"In-Reply-To: <a@b>\nReferences: <x@y> <a@b>\n" +
		"MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestSeriesSimulated counts how often a series without effect is found at
// fault, and how often the right patch is named where one has an effect. The
// noise drifts from block to block by 10 %, which pairing must cancel.
func TestSeriesSimulated(t *testing.T) {
	trials := 100
	if testing.Short() {
		trials = 60
	}
	count := func(effect float64) (named, others, none int) {
		for trial := range trials {
			r := rand.New(rand.NewPCG(uint64(trial), 41))
			g := simulated(r, 5, 5, 6, 0.02, func(patch int) float64 {
				if patch == 3 {
					return effect
				}
				return 0
			})
			p, ok := g.fault()
			switch {
			case !ok:
				none++
			case p.Number == 3:
				named++
			default:
				others++
			}
		}
		return named, others, none
	}
	// Of 5 patches under 6 conditions without any effect at most 5 % may be
	// claimed; better or worse, so about half of that closes the gate.
	// 3 standard errors of 5 % in so many trials.
	most := 0.05 + 3*math.Sqrt(0.05*0.95/float64(trials))
	if named, others, _ := count(0); float64(named+others)/float64(trials) > most {
		t.Errorf("of %d series without effect %d were found at fault: more than %.1f %%", trials, named+others, 100*most)
	}
	named, others, none := count(0.15)
	t.Logf("15 %%: named %d, another %d, none %d of %d", named, others, none, trials)
	if float64(named)/float64(trials) < 0.95 {
		t.Errorf("a patch that costs 15 %% was named in %d of %d series, another in %d, none in %d", named, trials, others, none)
	}
}

// simulated judges a series without a run directory: lognormal noise, a host
// that drifts.
func simulated(r *rand.Rand, patches, blocks, conditions int, sd float64, effect func(patch int) float64) *Gate {
	s := seriesOf(patches, true)
	m := testManifest("simulated", "vanilla")
	for _, p := range s.Patches {
		m.Arms = append(m.Arms, record.Arm{Name: p.Arm, Kernel: p.Arm})
		m.Kernels = append(m.Kernels, record.Kernel{Name: p.Arm, Hash: p.Arm})
	}
	var filesystems []string
	for i := range conditions {
		filesystems = append(filesystems, fmt.Sprintf("fs%d", i))
	}
	w := dd
	w.Metrics = w.Metrics[:1]
	cross(&m, blocks, []string{"sata"}, filesystems, []string{""}, w)
	src := source{manifest: m, setups: m.Arms, places: map[spot]place{}}
	for b, cells := range m.Blocks {
		drift := math.Exp(0.1 * r.NormFloat64())
		for _, c := range cells {
			v := 40 * drift * math.Exp(sd*r.NormFloat64())
			for _, p := range s.Patches[:slices.IndexFunc(m.Arms, func(a record.Arm) bool { return a.Name == c.Arm })] {
				v *= 1 + effect(p.Number)
			}
			src.samples = append(src.samples, record.Sample{Block: b + 1, Cell: c, Outcome: record.Outcome{Kind: record.OK},
				Metrics: []record.Metric{{MetricInfo: w.Metrics[0], Value: v}}})
		}
		src.planned += len(cells)
	}
	return s.Judge(&Report{analyse(src)})
}
