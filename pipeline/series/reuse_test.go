package series

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/progress"
	"spindle/pipeline"
	"spindle/reports"
	"spindle/reports/record"
)

const reusePlan = `name: wbt
kernels:
  base: {tree: /linux}
  upto-1: {tree: /linux, series: /s/series.mbox, upto: 1}
drives:
  sata: {profile: sata-7200, size: 8GiB}
arms:
  vanilla: {kernel: base}
  upto-1: {kernel: upto-1}
conditions:
  filesystem: [ext4]
  scheduler: [none]
workloads:
  - dd: {size: 64MiB}
repeat: 6
`

// runtime is a metric of dd's.
var runtime = record.MetricInfo{Name: "runtime", Unit: "s", Direction: record.Lower, Primary: true}

// made is a run directory of a plan. value gives the runtime of a sample, or 0
// for one that was not made.
func made(t *testing.T, name, text string, arms []string, value func(block int, arm string) float64, edit func(*record.Manifest)) *record.Run {
	t.Helper()
	p := load(t, text)
	m := record.Manifest{
		Name: "wbt", Spindle: "v0.1.0", Started: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Seed: p.Seed,
		Plan: record.Plan{Path: "plan.yaml", Text: text}, Compare: "arm", Conditions: p.Grid(),
		Image:     record.Image{Hash: "image", GuestHash: "guest"},
		Machine:   record.Machine{QEMU: "7.2", Accel: "kvm", CPUs: 1, CPUModel: "max", MemoryBytes: 1 << 30, Host: record.Host{CPU: "a host", CPUs: 4, MemoryBytes: 8 << 30, Kernel: "6.1"}},
		Drives:    []record.Drive{{Name: "sata", Model: "sata-7200"}},
		Workloads: []record.Workload{{Name: p.Workloads[0].Slug(), Title: "dd", Metrics: []record.MetricInfo{runtime}}},
		Kernels:   []record.Kernel{{Name: "base", Hash: "aaaa"}, {Name: "upto-1", Hash: "bbbb"}},
	}
	if p.Virtual() {
		m.Machine.Accel = "virtual"
	}
	for i, a := range arms {
		m.Arms = append(m.Arms, record.Arm{Name: a, Kernel: m.Kernels[i].Name})
	}
	for range p.Repeat {
		var b []record.Cell
		for _, a := range arms {
			b = append(b, record.Cell{Arm: a, Condition: m.Conditions[0]})
		}
		m.Blocks = append(m.Blocks, b)
	}
	if edit != nil {
		edit(&m)
	}
	r, err := record.Create(filepath.Join(t.TempDir(), name), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	measureInto(t, r, value)
	return r
}

// measureInto makes the samples that a run lacks.
func measureInto(t *testing.T, r *record.Run, value func(block int, arm string) float64) {
	t.Helper()
	m := r.Manifest()
	for i, cells := range m.Blocks {
		for j, c := range cells {
			v := value(i+1, c.Arm)
			if r.Have(i+1, c) || v == 0 {
				continue
			}
			n, err := r.NextAttempt(i+1, c)
			if err != nil {
				t.Fatal(err)
			}
			d, err := r.Begin(i+1, c, n)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(d.Dir(), "raw"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(d.Dir(), "raw", "dd.txt"), fmt.Append(nil, v), 0o644); err != nil {
				t.Fatal(err)
			}
			s := record.Sample{Outcome: record.Outcome{Kind: record.OK}, Started: m.Started.Add(time.Duration(10*i+j) * time.Minute),
				Metrics: []record.Metric{{MetricInfo: runtime, Value: v}}}
			if m.Machine.Accel == "virtual" {
				s.Virtual = &record.Virtual{Trace: fmt.Sprint(v)}
			}
			if err := d.Commit(s); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// quiet is a host on which the base takes 90 s, give or take 0.3 %.
func quiet(seed uint64, seconds float64) func(int, string) float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	return func(int, string) float64 { return seconds * math.Exp(0.003*r.NormFloat64()) }
}

func testEnv(t *testing.T) pipeline.Env {
	return pipeline.Env{Log: progress.New(testLog{t}, false, time.Now)}
}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// begun is a new run with nothing in it but what take puts there.
func begun(t *testing.T, text, from string, edit func(*record.Manifest)) (*record.Run, *reports.Reuse) {
	t.Helper()
	r := made(t, "new", text, []string{"vanilla", "upto-1"}, func(int, string) float64 { return 0 }, edit)
	reuse := &reports.Reuse{From: from}
	take(testEnv(t), r, load(t, text), reuse)
	return r, reuse
}

// taken gives the blocks whose baseline was taken over.
func taken(t *testing.T, r *record.Run) (blocks []int) {
	t.Helper()
	samples, err := r.Samples()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		if isBorrowed(s) {
			blocks = append(blocks, s.Block)
			if s.Arm != "vanilla" {
				t.Errorf("a sample of %s was taken over", s.Arm)
			}
			if err := r.Intact(s); err != nil {
				t.Error(err)
			}
		}
	}
	return blocks
}

// The whole way in real time: samples go to every second block, and stay where
// fresh ones agree with them.
func TestReuseAgrees(t *testing.T) {
	old := made(t, "old", reusePlan, []string{"vanilla", "upto-1"}, quiet(1, 90), nil)
	r, reuse := begun(t, reusePlan, old.Dir(), nil)
	if d := cmp.Diff([]int{2, 4, 6}, taken(t, r)); d != "" {
		t.Errorf("blocks (-want +got):\n%s", d)
	}
	measureInto(t, r, quiet(2, 90))
	dir := r.Dir()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	dropped, err := agree(testEnv(t), dir, reuse)
	if err != nil || dropped != 0 || reuse.Kept != 3 {
		t.Errorf("dropped %d, kept %d, %v; want none and 3", dropped, reuse.Kept, err)
	}
	if len(reuse.Notes) != 1 || !strings.Contains(reuse.Notes[0], "fresh samples differ from old ones by") {
		t.Errorf("notes %q", reuse.Notes)
	}
}

// A host that became slower by 4 % shows in the fresh samples: the old ones go.
func TestReuseDrifted(t *testing.T) {
	old := made(t, "old", reusePlan, []string{"vanilla", "upto-1"}, quiet(1, 90), nil)
	r, reuse := begun(t, reusePlan, old.Dir(), nil)
	measureInto(t, r, quiet(2, 93.6))
	dir := r.Dir()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	dropped, err := agree(testEnv(t), dir, reuse)
	if err != nil || dropped != 3 || reuse.Kept != 0 {
		t.Fatalf("dropped %d, kept %d, %v; want 3 and none", dropped, reuse.Kept, err)
	}
	again, err := record.Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := taken(t, again); len(got) > 0 {
		t.Errorf("blocks %v still have what was taken over", got)
	}
	attempts, err := again.Attempts()
	if err != nil || len(attempts) != 3 {
		t.Fatalf("%d attempts, %v; want the 3 that were withdrawn", len(attempts), err)
	}
	// What went is measured, and nothing else.
	measureInto(t, again, quiet(3, 93.6))
	samples, err := again.Samples()
	if err != nil || len(samples) != 12 {
		t.Errorf("%d samples, %v; want 12", len(samples), err)
	}
}

// What differs keeps everything out, with the reason.
func TestReuseRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		old  func(*record.Manifest)
		text func(string) string
		want string
	}{
		"host":          {func(m *record.Manifest) { m.Machine.Host.CPU = "another" }, nil, "the host was another"},
		"host's kernel": {func(m *record.Manifest) { m.Machine.Host.Kernel = "6.2" }, nil, "the host was"},
		"accelerator":   {func(m *record.Manifest) { m.Machine.Accel = "tcg" }, nil, "the accelerator was tcg and is kvm"},
		"QEMU":          {func(m *record.Manifest) { m.Machine.QEMU = "8.0" }, nil, "QEMU was 8.0"},
		"kernel":        {func(m *record.Manifest) { m.Kernels[0].Hash = "cccc" }, nil, "no arm of it has the base's kernel aaaa"},
		"image":         {func(m *record.Manifest) { m.Image.Hash = "other" }, nil, "the image was other"},
		"guest program": {func(m *record.Manifest) { m.Image.GuestHash = "other" }, nil, "the program in the guest was other"},
		"drive":         {func(m *record.Manifest) { m.Drives[0].Model = "other" }, nil, "the drives"},
		"memory":        {func(m *record.Manifest) { m.Machine.MemoryBytes = 5 }, nil, "memory was 5"},
		"workload":      {nil, func(s string) string { return strings.Replace(s, "64MiB", "65MiB", 1) }, "the workloads"},
		"settings": {nil, func(s string) string {
			return strings.Replace(s, "vanilla: {kernel: base}", "vanilla: {kernel: base, sysctl: {vm.dirty_ratio: 10}}", 1)
		}, "no arm of it has the base's kernel aaaa and settings"},
	} {
		t.Run(name, func(t *testing.T) {
			text := reusePlan
			if tt.text != nil {
				text = tt.text(text)
			}
			old := made(t, "old", text, []string{"vanilla", "upto-1"}, quiet(1, 90), tt.old)
			r, reuse := begun(t, reusePlan, old.Dir(), nil)
			if got := taken(t, r); len(got) > 0 || reuse.Taken != 0 {
				t.Errorf("taken over: blocks %v", got)
			}
			if s := strings.Join(reuse.Notes, "; "); !strings.Contains(s, tt.want) {
				t.Errorf("notes %q, want %q", s, tt.want)
			}
		})
	}
	old := made(t, "old", reusePlan, []string{"vanilla", "upto-1"}, quiet(1, 90), nil)
	_, reuse := begun(t, strings.Replace(reusePlan, "repeat: 6", "repeat: 3", 1), old.Dir(), nil)
	if s := strings.Join(reuse.Notes, "; "); !strings.Contains(s, "repeat: 5 leaves room") {
		t.Errorf("three blocks: %q", s)
	}
}

// In virtual time the block has the seeds: its own sample is the same again, on
// any host, or something is not as it was.
func TestReuseVirtual(t *testing.T) {
	text := strings.NewReplacer("tree: /linux}", "tree: /linux, arch: um}", "upto: 1}", "upto: 1, arch: um}").Replace(reusePlan) + "machine: {time: virtual, memory: 256MiB}\n"
	value := func(block int, arm string) float64 { return 90 + float64(block) }
	old := made(t, "old", text, []string{"vanilla", "upto-1"}, value, func(m *record.Manifest) { m.Machine.Host.CPU = "another" })
	for name, tt := range map[string]struct {
		fresh func(int, string) float64
		kept  int
	}{
		"the same":  {value, 5},
		"different": {func(block int, arm string) float64 { return 90.5 + float64(block) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, reuse := begun(t, text, old.Dir(), nil)
			if d := cmp.Diff([]int{2, 3, 4, 5, 6}, taken(t, r)); d != "" {
				t.Errorf("blocks (-want +got):\n%s", d)
			}
			measureInto(t, r, tt.fresh)
			dir := r.Dir()
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := agree(testEnv(t), dir, reuse); err != nil || reuse.Kept != tt.kept {
				t.Errorf("kept %d, %v; want %d: %q", reuse.Kept, err, tt.kept, reuse.Notes)
			}
		})
	}
}

// How often old samples are dropped though nothing drifted, and how often a
// drift of three standard deviations is seen.
func TestCompareOld(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, mean float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = mean + 0.01*r.NormFloat64()
		}
		return v
	}
	const trials = 2000
	still, drifted := 0, 0
	for range trials {
		if _, ok := compareOld(draw(3, 4), draw(4, 4)); !ok {
			still++
		}
		if _, ok := compareOld(draw(3, 4), draw(4, 4.03)); !ok {
			drifted++
		}
	}
	// Welch's test with so few is a little off its level.
	if rate := float64(still) / trials; rate < 0.07 || rate > 0.13 {
		t.Errorf("dropped in %.1f %% without drift, want about %.0f %%", 100*rate, 100*driftLevel)
	}
	if rate := float64(drifted) / trials; rate < 0.8 {
		t.Errorf("a drift of 3 sd was seen in %.1f %%", 100*rate)
	}
	if _, ok := compareOld(draw(5, 4), draw(2, 4)); ok {
		t.Error("two fresh samples were enough")
	}
}
