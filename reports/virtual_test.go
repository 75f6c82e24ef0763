package reports

import (
	"strings"
	"testing"

	"spindle/reports/record"
)

// virtualRun is one in virtual time, of a plan that sets the queue depth.
func virtualRun(t *testing.T) *record.Run {
	m := testManifest("virtual", "vanilla", "wbt")
	m.Machine = record.Machine{Accel: "virtual", CPUs: 1, MemoryBytes: 256 << 20, Host: m.Machine.Host}
	m.Drives[0].Params = append(m.Drives[0].Params, record.Param{Name: "queue.depth", Text: "31", Value: 31})
	cross(&m, 3, []string{"sata"}, []string{"ext4"}, []string{"bfq", "none"}, dd)
	r := create(t, m)
	fill(t, r, ddValues(0.4, nil), func(s *record.Sample) bool {
		s.BootSeconds, s.SetupSeconds, s.WorkloadSeconds, s.TotalSeconds = 0.31, 0, 0.4, 2
		s.Virtual = &record.Virtual{Seconds: 0.71, WallSeconds: 2, SameAgain: true}
		return true
	})
	return r
}

// unwrapped is a report without its line breaks.
func unwrapped(md []byte) string { return strings.Join(strings.Fields(string(md)), " ") }

// In virtual time the host drifts through no figure, and seconds are of two
// clocks.
func TestVirtualSaysNoDrift(t *testing.T) {
	r, err := Open(virtualRun(t).Dir())
	if err != nil {
		t.Fatal(err)
	}
	turned, err := r.Against("scheduler", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*Report{"arms": r, "turned": turned} {
		md, err := r.Render("md", false)
		if err != nil {
			t.Fatal(err)
		}
		checkText(t, string(md))
		got := unwrapped(md)
		for _, want := range []string{
			"every block has seeds of its own",
			"virtual time per sample, median: boot 310 ms, workload 400 ms (400 ms to 400 ms); 12 samples took the host 24.0 s in all",
			"queue.depth 31 (set to 1)",
			"12 samples were made twice: the same metrics, and the same requests at the same times",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
		for _, not := range []string{"drift", "set-up"} {
			if strings.Contains(got, not) {
				t.Errorf("%s: it says %q", name, not)
			}
		}
		if t.Failed() {
			t.Log(string(md))
		}
	}
}
