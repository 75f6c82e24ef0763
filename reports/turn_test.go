package reports

import (
	"strings"
	"testing"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// fsRun has two arms on three filesystems, of which xfs is a tenth faster and
// btrfs a fifth slower than ext4 with either arm.
func fsRun(t *testing.T) *record.Run {
	m := testManifest("filesystems", "vanilla", "wbt")
	cross(&m, 6, []string{"sata"}, []string{"ext4", "xfs", "btrfs"}, []string{"bfq", "none"}, dd)
	r := create(t, m)
	fill(t, r, ddValues(90, func(c record.Cell) float64 {
		return map[string]float64{"ext4": 0, "xfs": -0.1, "btrfs": 0.2}[c.Condition.Filesystem]
	}), nil)
	return r
}

func TestAgainst(t *testing.T) {
	r, err := Open(fsRun(t).Dir())
	if err != nil {
		t.Fatal(err)
	}
	fs, err := r.Against("filesystem", "")
	if err != nil {
		t.Fatal(err)
	}
	// Two arms × two schedulers, in each of which xfs is better, btrfs worse.
	got := map[string]int{}
	for _, k := range fs.a.comparisons {
		if k.metric.Primary {
			got[k.arm+" "+string(k.finding())]++
		}
	}
	if got["xfs better"] != 4 || got["btrfs worse"] != 4 || len(got) != 2 {
		t.Errorf("verdicts %v", got)
	}
	out, err := fs.Render("md", false)
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, string(out))
	for _, want := range []string{"| scheduler | arm ", "xfs against ext4", "arm wbt: kernel patched"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("report has no %q:\n%s", want, out)
		}
	}

	other, err := r.Against("filesystem", "btrfs")
	if err != nil {
		t.Fatal(err)
	}
	if b := other.a.baseline(); b != "btrfs" {
		t.Errorf("baseline is %s", b)
	}
	kernels, err := r.Against("kernel", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kernels.a.comparisons {
		if k.verdict.Kind == stat.Worse || k.verdict.Kind == stat.Better || k.condition.Setup != "" {
			t.Errorf("kernels: %+v", k)
		}
	}
	for axis, want := range map[string]string{"drive": "one drive in each condition", "phase": "cannot compare"} {
		if _, err := r.Against(axis, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", axis, err, want)
		}
	}
	if _, err := r.Against("scheduler", "kyber"); err == nil || !strings.Contains(err.Error(), "it has bfq, none") {
		t.Errorf("error %v does not name the schedulers", err)
	}
}

// Evidence of a turned report still points to the files.
func TestAgainstKeepsPlaces(t *testing.T) {
	r, err := Open(runs["broken"](t).Dir())
	if err != nil {
		t.Fatal(err)
	}
	fs, err := r.Against("scheduler", "")
	if err != nil {
		t.Fatal(err)
	}
	out, err := fs.Render("md", true)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "samples/b2/sata_btrfs_bfq_dd-fsync_wbt/console.log, line 412") {
		t.Errorf("no evidence of the hang:\n%s", out)
	}
}
