package pipeline

import (
	"strings"
	"testing"
	"time"
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
	p.AddControl()
	p.AddControl() // once is enough
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
	q.restore(m)
	if len(q.Arms) != 3 || q.control != p.control {
		t.Errorf("restored arms %+v", q.Arms)
	}
}
