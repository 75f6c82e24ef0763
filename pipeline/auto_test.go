package pipeline

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/progress"
	"spindle/reports/record"
)

func autoPlan(extra string) string {
	return "name: n\nkernels: {k: {deb: linux-image-6.12-amd64}}\ndrives: {sata: {profile: sata-7200}}\narms: {a: {kernel: k}, b: {kernel: k, sysctl: {vm.dirty_ratio: 5}}}\n" +
		"conditions: {filesystem: [ext4], scheduler: [none]}\nworkloads: [{dd: {size: 96MiB}}]\n" + extra
}

func TestRepeatAuto(t *testing.T) {
	p, err := Load("auto.yaml", []byte(autoPlan("repeat: auto\nbudget: {blocks: 12, time: 8h, see: 0.03}\n")))
	if err != nil {
		t.Fatal(err)
	}
	if a := p.autoRecord(); !p.Auto || p.Repeat != 12 || len(Layout(p)) != 12 || a.Most != 12 || a.Seconds != (8*time.Hour).Seconds() || a.See != 0.03 {
		t.Errorf("auto %v, %d blocks, budget %+v", p.Auto, p.Repeat, a)
	}
	if p, err = Load("auto.yaml", []byte(autoPlan("repeat: auto\n"))); err != nil || p.Repeat != defaultBudget {
		t.Errorf("without a budget: %d blocks, %v", p.Repeat, err)
	}
	if p, err = Load("auto.yaml", []byte(autoPlan("repeat: 4\n"))); err != nil || p.autoRecord() != nil {
		t.Errorf("a fixed number: %+v, %v", p.autoRecord(), err)
	}
	for extra, want := range map[string]string{
		"repeat: 4\nbudget: {blocks: 12}\n":    "budget goes with repeat: auto",
		"repeat: auto\nbudget: {blocks: 2}\n":  "want from 3 to 1000",
		"repeat: auto\nbudget: {see: 3}\n":     "want a share of at most 0.1",
		"repeat: automatic\n":                  "wants a whole number",
		"repeat: auto\nbudget: {boots: 100}\n": "boots",
	} {
		if _, err := Load("auto.yaml", []byte(autoPlan(extra))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", extra, err, want)
		}
	}
}

func TestAddControl(t *testing.T) {
	p, err := Load("aa.yaml", []byte(autoPlan("repeat: 4\n")))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // once is enough
		if err := p.AddControl(); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.Arms) != 3 || p.Arms[2].Name != "a again" || p.Arms[2].Kernel != p.Arms[0].Kernel {
		t.Fatalf("arms %+v", p.Arms)
	}
	for _, b := range Layout(p) {
		if len(b.Cells) != 3 {
			t.Errorf("block %d has %d cells", b.Index, len(b.Cells))
		}
	}
	// A resumed run has it again.
	var k Kit
	m := manifest(Env{Now: time.Now}, &k, p)
	if !m.Arms[2].Control || m.Arms[1].Control {
		t.Errorf("manifest has arms %+v", m.Arms)
	}
	q, err := Load("aa.yaml", []byte(p.Text))
	if err != nil {
		t.Fatal(err)
	}
	if err := q.restore(m); err != nil {
		t.Fatal(err)
	}
	if len(q.Arms) != 3 || q.control != p.control {
		t.Errorf("restored arms %+v", q.Arms)
	}
}

// In virtual time an A/A is of two builds, and there must be a source to build.
func TestAddControlVirtual(t *testing.T) {
	virtual := func(kernel string) *Plan {
		text := strings.Replace(autoPlan("repeat: 4\nmachine: {time: virtual}\n"), "{deb: linux-image-6.12-amd64}", kernel, 1)
		p, err := Load("aa.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := virtual("{deb: linux-source-6.12, arch: um}")
	if err := p.AddControl(); err != nil {
		t.Fatal(err)
	}
	arm := p.Arms[2]
	again, ok := p.Kernels[arm.Kernel]
	if !ok || arm.Kernel != p.Arms[0].Kernel+" again" || again.Arch != "um" || !slices.Contains(again.Config, "uml") || again.Config[len(again.Config)-1] != "again" {
		t.Errorf("arm %+v, kernel %+v", arm, again)
	}
	if n := p.written(arm.Kernel); n == nil || n != p.written(p.Arms[0].Kernel) {
		t.Errorf("its place in the plan is %+v", n)
	}
	p = virtual("{path: /boot/linux, arch: um}")
	if err := p.AddControl(); fault.Of(err) != fault.Plan || !strings.Contains(err.Error(), "wants a second build") || len(p.Arms) != 2 {
		t.Errorf("%d arms, %v", len(p.Arms), err)
	}
}

// A run looks after 3, 5, 7, ... blocks and at no other, and its decision
// outlives it: one that is resumed has nothing left to do.
func TestDecided(t *testing.T) {
	runtime := record.MetricInfo{Name: "runtime", Unit: "s", Direction: record.Lower, Primary: true}
	c := record.Condition{Drive: "sata", Filesystem: "ext4", Scheduler: "none", Workload: "dd"}
	m := record.Manifest{
		Name: "n", Compare: "arm", Plan: record.Plan{Path: "n.yaml", Text: "name: n\n"}, Auto: &record.Auto{Most: 10, See: 0.05},
		Arms: []record.Arm{{Name: "a", Kernel: "k"}, {Name: "b", Kernel: "l"}}, Conditions: []record.Condition{c},
		Kernels:   []record.Kernel{{Name: "k", Hash: "1"}, {Name: "l", Hash: "2"}},
		Workloads: []record.Workload{{Name: "dd", Title: "dd", Metrics: []record.MetricInfo{runtime}}},
	}
	for range 10 {
		m.Blocks = append(m.Blocks, []record.Cell{{Arm: "a", Condition: c}, {Arm: "b", Condition: c}})
	}
	dir := filepath.Join(t.TempDir(), "run")
	r, err := record.Create(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	env := Env{Log: progress.New(io.Discard, false, time.Now)}
	// By five blocks it is plain that b takes a tenth longer; by three the
	// first pair, in which it did not, hides that.
	seconds := [][2]float64{{100, 99}, {100, 112}, {101, 111}, {100, 110}, {99, 109}, {100, 110}, {100, 110.5}}
	for i, pair := range seconds {
		for j, v := range pair {
			d, err := r.Begin(i+1, m.Blocks[i][j], 1)
			if err != nil {
				t.Fatal(err)
			}
			s := record.Sample{Outcome: record.Outcome{Kind: record.OK}, Started: time.Unix(int64(2*i+j), 0), Metrics: []record.Metric{{MetricInfo: runtime, Value: v}}}
			if err := d.Commit(s); err != nil {
				t.Fatal(err)
			}
		}
		end, err := decided(env, r, i+1)
		if err != nil {
			t.Fatal(err)
		}
		if end != (i == 6) {
			t.Fatalf("after block %d: ended is %v", i+1, end)
		}
	}
	r.Close()
	again, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := again.Decision(); !ok || d.Blocks != 7 || again.Planned() != 14 || !strings.Contains(d.Why, "decided after 7 blocks") {
		t.Errorf("decision %+v, %v; %d samples planned", d, ok, again.Planned())
	}
}
