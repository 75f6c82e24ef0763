package workloads

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/unit"
	"spindle/reports/record"
	"spindle/workloads/mdraid"
)

// The members of an array get the settings of queues, and the array is the test
// drive.
func TestArray(t *testing.T) {
	s := fakeSystem(t)
	for _, name := range []string{"sdb", "sdc"} {
		for file, text := range map[string]string{"serial": name, "queue/scheduler": "none [mq-deadline] bfq\n", "queue/nr_requests": "64\n", "queue/wbt_lat_usec": "75000\n"} {
			put(t, s.path("sys/block/"+name+"/"+file), text)
		}
		put(t, s.path("dev/"+name), "")
	}
	// mdadm makes an array of what a drive of the fake has.
	script(t, "mdadm", `[ "$1" = --version ] && { echo 'mdadm - v4.4'; exit; }
cd `+s.Root+` && cp -r sys/block/sda sys/block/md0 && rm sys/block/md0/queue/scheduler && mkdir sys/block/md0/md &&
echo raid5 > sys/block/md0/md/level && cp dev/sda dev/md0 &&
echo '9 0 md0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17' >> proc/diskstats && echo "mdadm: array /dev/md0 started." >&2`)
	job := ddJob(s)
	job.MD = &mdraid.Spec{Level: "5", Chunk: 64 * unit.KiB, Members: []string{"sdc", "d0", "sdb"}}
	job.Queue = map[string]string{"nr_requests": "32"}
	res, _ := do(t, s, job)
	if res.Outcome.Kind != record.OK {
		t.Fatalf("outcome %+v", res.Outcome)
	}
	want := map[string]string{"md_level": "raid5", "member_nr_requests": "32", "scheduler": "bfq", "wbt_lat_usec_default": "75000"}
	got := map[string]string{}
	for key := range want {
		got[key] = res.Settings[key]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	nodes := s.path("dev/sdc") + " " + s.path("dev/sda") + " " + s.path("dev/sdb")
	if made := res.Settings["md"]; !strings.HasSuffix(made, "--level=5 --raid-devices=3 --chunk=64 "+nodes) {
		t.Errorf("made by %q, want %s at its end", made, nodes)
	}
	for _, name := range []string{"sda", "sdb", "sdc"} {
		data, err := os.ReadFile(s.path("sys/block/" + name + "/queue/scheduler"))
		if err != nil || string(data) != "bfq" {
			t.Errorf("%s has scheduler %q, %v", name, data, err)
		}
	}
	if log, err := os.ReadFile(filepath.Join(job.Dir, SetupFile)); err != nil || !strings.Contains(string(log), "array /dev/md0 started") {
		t.Errorf("%s: %q, %v", SetupFile, log, err)
	}
	if res.Programs["mdadm"] != "mdadm - v4.4" {
		t.Errorf("programs %v", res.Programs)
	}

	// A member that is not there is ours; an array that cannot be made is the
	// kernel's.
	job.MD.Members[2] = "sdz"
	if res, _ := do(t, s, job); res.Outcome.Reason != "drive-missing" || res.Outcome.Kind != record.Machinery {
		t.Errorf("outcome %+v", res.Outcome)
	}
	job.MD.Members[2] = "sdb"
	script(t, "mdadm", `echo "mdadm: RUN_ARRAY failed: Invalid argument" >&2; exit 1`)
	if res, _ := do(t, s, job); res.Outcome.Reason != "md" || res.Outcome.Kind != record.KernelFault || !strings.Contains(res.Outcome.Detail, "RUN_ARRAY failed") {
		t.Errorf("outcome %+v", res.Outcome)
	}
}
