package workloads

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/workloads/blockdev"
)

func testRun(t *testing.T, job Job) *run {
	s := fakeSystem(t)
	return &run{
		sys: s, job: job, dir: s.Mount, mounted: true, result: &Result{},
		drive: blockdev.Drive{Name: "sda", Sys: s.path("sys"), Node: s.path("dev/sda")},
	}
}

func TestSettings(t *testing.T) {
	r := testRun(t, Job{
		Scheduler: "bfq",
		Queue:     map[string]string{"nr_requests": "0x20", "rotational": "0"},
		Device:    map[string]string{"queue_depth": "1"},
		Sysctl:    map[string]string{"vm.dirty_ratio": "10"},
	})
	ks := r.knobs()
	var order []string
	for _, k := range ks {
		order = append(order, k.key)
	}
	// The device before the scheduler before the queue.
	if diff := cmp.Diff([]string{"queue_depth", "scheduler", "nr_requests", "rotational", "vm.dirty_ratio"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if err := apply(ks); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"queue_depth": "1", "scheduler": "bfq", "nr_requests": "0x20", "rotational": "0", "wbt_lat_usec": "75000",
		"wbt": "unknown (no debugfs)", "vm.dirty_ratio": "10", "vm.dirty_background_ratio": "10",
		"kernel": "6.12.0-test", "cpus": "2", "memory": "1GiB", "mount": "rw,noatime",
	}
	if diff := cmp.Diff(want, r.settings(ks)); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestSettingsRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		job  Job
		prep func(t *testing.T, r *run)
		want string // with ROOT for the fake's root
	}{
		{
			"no such knob", Job{Queue: map[string]string{"wonder": "1"}}, nil,
			"set wonder: this kernel has no ROOT/sys/block/sda/queue/wonder",
		},
		{
			"no such sysctl", Job{Sysctl: map[string]string{"vm.dirty.wonder": "1"}}, nil,
			"set vm.dirty.wonder: this kernel has no ROOT/proc/sys/vm/dirty/wonder",
		},
		{
			"refused", Job{Scheduler: "cfq"},
			func(t *testing.T, r *run) {
				// Writing to a directory is refused, as the kernel refuses a bad value.
				path := r.drive.Path("queue/scheduler")
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				put(t, filepath.Join(path, "x"), "")
			},
			`set scheduler to "cfq": is a directory; it is unreadable (ROOT/sys/block/sda/queue/scheduler)`,
		},
		{
			"did not take", Job{Queue: map[string]string{"nr_requests": "1000000"}},
			func(t *testing.T, r *run) {
				// A file that takes everything and stays as it is.
				path := r.drive.Path("queue/nr_requests")
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(os.DevNull, path); err != nil {
					t.Fatal(err)
				}
			},
			`set nr_requests to "1000000": it did not take, it is "" (ROOT/sys/block/sda/queue/nr_requests)`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testRun(t, tt.job)
			if tt.prep != nil {
				tt.prep(t, r)
			}
			err := apply(r.knobs())
			if err == nil {
				t.Fatal("no error")
			}
			if fault.Of(err) != fault.Kernel || fault.Reason(err) != "setting" {
				t.Errorf("%v: kind %s, reason %q", err, fault.Of(err), fault.Reason(err))
			}
			want := "setting: " + strings.ReplaceAll(tt.want, "ROOT", r.sys.Root)
			if err.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
		})
	}
}

func TestTook(t *testing.T) {
	for _, tt := range []struct {
		key, wrote, read string
		want             bool
	}{
		{"nr_requests", "64", "64", true},
		{"nr_requests", "064", "64", false}, // octal to the kernel
		{"nr_requests", "0x40", "64", true},
		{"nr_requests", "64", "128", false},
		{"scheduler", "bfq", "none mq-deadline [bfq]", true},
		{"scheduler", "bfq", "none [mq-deadline] bfq", false},
		{"write_cache", "write through", "write through", true},
		{"wbt_lat_usec", "-1", "75000", true},
		{"wbt_lat_usec", "-1", "-1", true},
		{"wbt_lat_usec", "2000", "75000", false},
		{"vm.overcommit", "-1", "75000", false},
		{"kernel.core_pattern", " |/bin/false", "|/bin/false", true},
		{"net.ipv4.tcp_rmem", "4096 131072 6291456", "4096\t131072\t6291456", true},
	} {
		if got := (knob{key: tt.key, want: tt.wrote}).took(tt.read); got != tt.want {
			t.Errorf("%s: wrote %q, read %q: %t", tt.key, tt.wrote, tt.read, got)
		}
	}
}

func TestChanges(t *testing.T) {
	before := map[string]string{"scheduler": "bfq", "nr_requests": "64", "gone": "1", "wb_normal": "8"}
	after := map[string]string{"scheduler": "none", "nr_requests": "64", "new": "1", "wb_normal": "12"}
	if diff := cmp.Diff([]string{"scheduler changed during the run: bfq, then none"}, changes(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCountList(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-3": 4, "0-3,8": 5, "1,3,5-6": 4, "": 0, "x": 0, "3-1": 0, "-1": 0} {
		if got := countList(list); got != want {
			t.Errorf("countList(%q) = %d, want %d", list, got, want)
		}
	}
}
