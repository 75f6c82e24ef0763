package workloads

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/reports/record"
	"spindle/workloads/latency"
	"spindle/workloads/sample"
)

// Settings of a scheduler are made where it is the condition's.
func TestIosched(t *testing.T) {
	set := Settings{Iosched: map[string]map[string]string{"bfq": {"slice_idle": "0", "low_latency": "0"}}}
	for scheduler, want := range map[string][]string{"bfq": {"scheduler", "iosched/low_latency", "iosched/slice_idle"}, "none": {"scheduler"}} {
		r := testRun(t, Job{Scheduler: scheduler, Set: set})
		r.set = set
		var got []string
		for _, k := range r.knobs() {
			got = append(got, k.key)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", scheduler, diff)
		}
	}
}

// Backing devices' settings are made after the mount and read back; bytes come
// back rounded by the kernel.
func TestBDI(t *testing.T) {
	s := fakeSystem(t)
	job := mounted(t, s, "- command: {run: 'true'}")
	put(t, s.path("sys/class/bdi/8:0/max_bytes"), "0\n")
	job.Set.BDI = map[string]string{"strict_limit": "1", "max_bytes": "26214400"}
	res, _ := do(t, s, job)
	if res.Outcome.Kind != record.OK || res.Settings["bdi/strict_limit"] != "1" || res.Settings["bdi/max_bytes"] != "26214400" {
		t.Fatalf("outcome %+v, settings %v", res.Outcome, res.Settings)
	}
	job.Set.BDI = map[string]string{"wonder": "1"}
	res, _ = do(t, s, job)
	if res.Outcome.Reason != "setting" || !strings.Contains(res.Outcome.Detail, "this kernel has no") {
		t.Errorf("outcome %+v", res.Outcome)
	}
	k := knob{key: "bdi/max_bytes", want: "26214400"}
	for text, want := range map[string]bool{"26214400": true, "26210304": true, "13107200": false, "0": false} {
		if k.took(text) != want {
			t.Errorf("max_bytes %s: took %v", text, !want)
		}
	}
	k = knob{key: "cgroup/io.bfq.weight", want: "50"}
	for text, want := range map[string]bool{"default 50": true, "default 100": false, "50\n": true} {
		if k.took(text) != want {
			t.Errorf("weight %q: took %v", text, !want)
		}
	}
	if k = (knob{key: "cgroup/io.max", want: "8:0 wbps=1048576"}); !k.took("8:0 rbps=max wbps=1048576 riops=max wiops=max") || k.took("8:0 rbps=max wbps=max") {
		t.Error("io.max is not read")
	}
}

// The workload's processes are in the group from their first instruction on, the
// set-up's are not.
func TestGroup(t *testing.T) {
	for _, version := range []int{1, 2} {
		s := fakeSystem(t)
		root := s.path("sys/fs/cgroup")
		s.MountBlkio = func(dir string) error {
			if dir != s.path(blkioMount) {
				t.Errorf("mounted at %s", dir)
			}
			return nil
		}
		if version == 1 {
			root = s.path(blkioMount)
		}
		put(t, root+"/cgroup.subtree_control", "")
		put(t, root+"/spindle/cgroup.procs", "")
		file := map[int]string{1: "blkio.bfq.weight", 2: "io.bfq.weight"}[version]
		put(t, root+"/spindle/"+file, "100\n")
		job := mounted(t, s, "- command: {run: 'echo $$ >pid'}")
		job.Set.Cgroup = &Cgroup{Version: version, Settings: map[string]string{file: "50"}}
		res, _ := do(t, s, job)
		if res.Outcome.Kind != record.OK {
			t.Fatalf("outcome %+v", res.Outcome)
		}
		pid, _ := os.ReadFile(filepath.Join(s.Mount, "pid"))
		joined, _ := os.ReadFile(root + "/spindle/cgroup.procs")
		if p := strings.TrimSpace(string(pid)); p == "" || p != string(joined) {
			t.Errorf("version %d: the command was %q, in the group was %q", version, pid, joined)
		}
		if res.Settings["cgroup/"+file] != "50" || !strings.HasSuffix(res.Settings["cgroup"], "/spindle") {
			t.Errorf("settings %v", res.Settings)
		}
		// The controller is there, the workload in the root group.
		job.Set.Cgroup = &Cgroup{Version: version, Group: "root"}
		put(t, root+"/spindle/cgroup.procs", "")
		res, _ = do(t, s, job)
		if joined, _ := os.ReadFile(root + "/spindle/cgroup.procs"); res.Outcome.Kind != record.OK || len(joined) > 0 || !strings.HasSuffix(res.Settings["cgroup"], "root") {
			t.Errorf("root group: %+v, %q in the group, settings %q", res.Outcome, joined, res.Settings["cgroup"])
		}
	}
}

func TestGroupRefused(t *testing.T) {
	s := fakeSystem(t)
	job := mounted(t, s, "- command: {run: 'true'}")
	job.Set.Cgroup = &Cgroup{Version: 1}
	res, _ := do(t, s, job)
	if res.Outcome.Kind != record.KernelFault || res.Outcome.Reason != "setting" || !strings.Contains(res.Outcome.Detail, "no blkio controller of version 1: not here") {
		t.Errorf("outcome %+v", res.Outcome)
	}
	_, err := proc.Run(t.Context(), proc.Cmd{Path: s.Self[0], Args: []string{groupRole, t.TempDir() + "/none", "true"}})
	if err == nil || !strings.Contains(err.Error(), "join control group") {
		t.Errorf("no such group: %v", err)
	}
}

func TestTrace(t *testing.T) {
	s := fakeSystem(t)
	job := mounted(t, s, "- command: {run: 'true'}")
	job.Set.Trace = []string{"blk", "writeback"}
	put(t, s.path("proc/meminfo"), "MemTotal:         131072 kB\n")
	dir := s.path("sys/kernel/debug/tracing")
	res, _ := do(t, s, job)
	if res.Outcome.Reason != "setting" || !strings.Contains(res.Outcome.Detail, "set trace: this kernel cannot") {
		t.Errorf("without tracing: %+v", res.Outcome)
	}
	for _, f := range []string{"current_tracer", "trace_clock", "buffer_size_kb", "tracing_on", "events/writeback/enable"} {
		put(t, dir+"/"+f, "")
	}
	put(t, s.path("sys/block/sda/trace/enable"), "0\n")
	// Clearing it truncates it, which the kernel's does not.
	put(t, dir+"/trace", "")
	put(t, dir+"/per_cpu/cpu0/trace_pipe_raw", strings.Repeat("\x00", 2*4096))
	put(t, dir+"/saved_cmdlines", "1 init\n")
	put(t, dir+"/per_cpu/cpu0/stats", "entries: 5\noverrun: 7\ncommit overrun: 0\nbytes: 1\ndropped events: 2\n")
	res, _ = do(t, s, job)
	if res.Outcome.Kind != record.OK {
		t.Fatalf("outcome %+v", res.Outcome)
	}
	for f, want := range map[string]string{"current_tracer": "blk", "trace_clock": "mono", "buffer_size_kb": "4096", "events/writeback/enable": "1", "tracing_on": "0", "../../../block/sda/trace/enable": "1"} {
		if got, _ := os.ReadFile(filepath.Join(dir, f)); string(got) != want {
			t.Errorf("%s is %q, want %q", f, got, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(job.Dir, TraceFile)); err != nil || !strings.HasPrefix(string(text), "\x17\x08Dtracing6\x00") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(job.Dir, TraceText)); err != nil {
		t.Error(err)
	}
	warned := false
	for _, w := range res.Warnings {
		warned = warned || strings.HasPrefix(w, "trace: 9 events were overwritten")
	}
	if !warned || res.Settings["trace"] != "blk, writeback" {
		t.Errorf("warnings %q, settings %v", res.Warnings, res.Settings)
	}
}

func TestMergeSettings(t *testing.T) {
	arm := Settings{Sysctl: map[string]string{"vm.dirty_ratio": "10"}, Iosched: map[string]map[string]string{"bfq": {"slice_idle": "0"}}}
	got, err := arm.Merge(Settings{Sysctl: map[string]string{"vm.swappiness": "1"}, Iosched: map[string]map[string]string{"bfq": {"low_latency": "0"}}, Cgroup: &Cgroup{}})
	want := Settings{
		Sysctl:  map[string]string{"vm.dirty_ratio": "10", "vm.swappiness": "1"},
		Iosched: map[string]map[string]string{"bfq": {"slice_idle": "0", "low_latency": "0"}}, Cgroup: &Cgroup{},
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(arm.Sysctl) != 1 || len(arm.Iosched["bfq"]) != 1 {
		t.Errorf("the arm's own changed: %+v", arm)
	}
	for _, o := range []Settings{{Sysctl: map[string]string{"vm.dirty_ratio": "20"}}, {Iosched: map[string]map[string]string{"bfq": {"slice_idle": "8"}}}} {
		if _, err := arm.Merge(o); err == nil || !strings.Contains(err.Error(), "is set twice") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if fault.Of(err) == fault.Kernel {
		t.Error("a plan's mistake is the kernel's")
	}
}

// A stall is told with what the counters showed meanwhile.
func TestExplainStalls(t *testing.T) {
	s := fakeSystem(t)
	job := mounted(t, s, "- ioperf: {data: 1MiB, wal: 1MiB, readers: 2, duration: 1s, checkpoint-writes: 50, stall: 1us}")
	res, _ := do(t, s, job)
	if res.Outcome.Kind != record.OK {
		t.Fatalf("outcome %+v", res.Outcome)
	}
	stalls, err := readLines[Stalled](filepath.Join(job.Dir, StallsFile))
	if err != nil || len(stalls) == 0 || stalls[0].Workload != "ioperf" || stalls[0].Length < 1000 {
		t.Fatalf("%v, %d stalls", err, len(stalls))
	}
	// What was in flight is the most of what was seen between start and end.
	seven := uint64(7)
	r := &run{shared: &shared{stalls: []Stalled{{Stall: latency.Stall{Start: 100, Length: 50}}, {Stall: latency.Stall{Start: 300, Length: 1}}}}}
	r.explainStalls(
		[]sample.Disk{{Stamp: sample.Stamp{Monotonic: 120}, InFlight: 2}, {Stamp: sample.Stamp{Monotonic: 160}, InFlight: 30}},
		[]sample.VM{{Stamp: sample.Stamp{Monotonic: 120}, Writeback: 7}},
		[]sample.Flight{{Monotonic: 99, Reads: 50}, {Monotonic: 110, Reads: 3, Writes: 4}, {Monotonic: 140, Writes: 1}, {Monotonic: 151, Reads: 60}},
	)
	if diff := cmp.Diff([]*uint64{&seven, &seven, nil, nil}, []*uint64{r.shared.stalls[0].InFlight, r.shared.stalls[0].Writeback, r.shared.stalls[1].InFlight, r.shared.stalls[1].Writeback}); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{IostatFile, IostatLines, BurstsFile, EventsFile} {
		if _, err := os.Stat(filepath.Join(job.Dir, name)); err != nil {
			t.Error(err)
		}
	}
}
