package workloads

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/proc/proctest"
	"spindle/internal/unit"
	"spindle/reports/record"
)

// mounted is a job with a file system that is a plain directory.
func mounted(t *testing.T, s System, text string) Job {
	t.Helper()
	script(t, "mkfs.ext4", "exit 0")
	script(t, "mount", "exit 0")
	put(t, s.path("proc/sys/vm/drop_caches"), "0\n")
	put(t, s.path("sys/class/bdi/8:0/strict_limit"), "0\n")
	job := ddJob(s)
	job.Filesystem = "ext4"
	job.Workload = specs(t, text)[0]
	return job
}

func events(t *testing.T, dir string) []Event {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []Event
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var e Event
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// Every program of spindle's own, alone, from the plan's text to its metrics.
func TestDoOwn(t *testing.T) {
	for _, text := range []string{
		"- ioperf: {data: 1MiB, wal: 1MiB, readers: 2, duration: 1s, checkpoint-writes: 50}",
		"- read-to-pipe: {file: 1MiB}",
		"- read-to-pipe: {file: 1MiB, to: \"null\"}",
		"- startup: {files: 10, size: 1MiB, starts: 2, pause: 1ms}",
		"- create: {processes: 2, files: 10, rounds: 2}",
		"- age: {rounds: 2, writers: 2, files: 4, size: 64KiB}",
		"- command: {run: 'echo p99 12 ms; echo more >\"$TARGET/f\"', metrics: [{name: p99, unit: s, direction: lower, regex: 'p99 ([0-9.]+) ms', scale: 0.001, primary: true}]}",
	} {
		t.Run(strings.Fields(text)[1], func(t *testing.T) {
			s := fakeSystem(t)
			job := mounted(t, s, text)
			if err := job.Validate(); err != nil {
				t.Fatal(err)
			}
			res, _ := do(t, s, job)
			if res.Outcome.Kind != record.OK {
				t.Fatalf("outcome %+v", res.Outcome)
			}
			var want, got []string
			for _, m := range job.Workload.Metrics() {
				want = append(want, m.Name)
			}
			for i, m := range res.Metrics {
				got = append(got, m.Name)
				if m.Primary != (i == 0) || m.Primary && m.Value <= 0 || m.Value < 0 {
					t.Errorf("%+v", m)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			es := events(t, job.Dir)
			if len(es) != 2 || es[0].What != "start" || es[1].What != "end" || es[1].Monotonic <= es[0].Monotonic {
				t.Errorf("events %+v", es)
			}
		})
	}
}

// A load that would run for an hour beside a workload that takes a moment: it is
// asked to end, reports, and its metrics are kept apart.
func TestBeside(t *testing.T) {
	proctest.Need(t, "dd")
	s := fakeSystem(t)
	job := mounted(t, s, `
- startup: {files: 10, size: 1MiB, starts: 2, pause: 300ms}
  after: 100ms
  beside:
    - ioperf: {data: 1MiB, wal: 1MiB, readers: 1, duration: 1h, checkpoint-writes: 10}
    - dd: {size: 4MiB}
      until: done
    - fsync-tester: {file: 1MiB, write: 4KiB, pause: 10ms, iterations: 100000}
`)
	if got, want := job.Workload.Slug(), "startup-beside-ioperf-beside-dd-beside-fsync-tester"; got != want {
		t.Errorf("slug %s, want %s", got, want)
	}
	if err := job.Validate(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	res, _ := do(t, s, job)
	if res.Outcome.Kind != record.OK || time.Since(began) > time.Minute {
		t.Fatalf("outcome %+v after %s", res.Outcome, time.Since(began))
	}
	for _, name := range []string{"start p50", "ioperf: read p99", "dd: runtime", "dd: throughput", "fsync-tester: fsync p50"} {
		if value(t, res, name) <= 0 {
			t.Errorf("%s is not there", name)
		}
	}
	var names []string
	for _, m := range job.Workload.Metrics() {
		names = append(names, m.Name)
	}
	if len(names) != len(res.Metrics) {
		t.Errorf("%d metrics of %d announced", len(res.Metrics), len(names))
	}
	// Each has files and raw output of its own.
	for _, path := range []string{
		s.Mount + "/ioperf/data", s.Mount + "/dd/dd.out", s.Mount + "/startup-0000",
		job.Dir + "/beside/ioperf/ioperf.json", job.Dir + "/beside/dd/stderr", job.Dir + "/startup.json",
	} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	// The load begins before and ends after.
	var order []string
	for _, e := range events(t, job.Dir) {
		if e.Workload == "startup-beside-ioperf-beside-dd-beside-fsync-tester" || e.Workload == "ioperf" {
			order = append(order, strings.Split(e.Workload, "-")[0]+" "+e.What)
		}
	}
	if diff := cmp.Diff([]string{"ioperf start", "startup start", "startup end", "ioperf stop", "ioperf end"}, order); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	// dd of 4 MiB was done long before the second start.
	if !slices.ContainsFunc(res.Warnings, func(w string) bool { return strings.HasPrefix(w, "dd ended ") }) && value(t, res, "start p50") > 1 {
		t.Errorf("warnings %q", res.Warnings)
	}
}

// dd that is cut short tells what it had done by then.
func TestBesideCutShort(t *testing.T) {
	proctest.Need(t, "dd")
	s := fakeSystem(t)
	job := mounted(t, s, `
- command: {run: sleep 0.3}
  beside: [{dd: {size: 1GiB, bs: 4KiB, oflag: dsync}}]
`)
	put(t, s.path("sys/block/sda/size"), "16777216\n")
	res, _ := do(t, s, job)
	if res.Outcome.Kind != record.OK {
		t.Fatalf("outcome %+v", res.Outcome)
	}
	if v := value(t, res, "dd-dsync: throughput"); v <= 0 || v > 5e9 {
		t.Errorf("throughput %g", v)
	}
	if slices.ContainsFunc(res.Metrics, func(m record.Metric) bool { return m.Name == "dd-dsync: runtime" }) {
		t.Error("the time of half a dd is told")
	}
}

func TestBesideFails(t *testing.T) {
	s := fakeSystem(t)
	job := mounted(t, s, `
- command: {run: sleep 0.2}
  beside: [{name: load, command: {run: 'echo no luck >&2; exit 3'}}]
`)
	res, _ := do(t, s, job)
	if res.Outcome.Kind != record.KernelFault || !strings.Contains(res.Outcome.Detail, "load, beside the workload: ") || !strings.Contains(res.Outcome.Detail, "no luck") {
		t.Errorf("outcome %+v", res.Outcome)
	}
}

func TestBesideInvalid(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{"{dd: {size: 1MiB}, until: done}", "until: is for what runs beside a workload"},
		{"{dd: {size: 1MiB}, after: 1s}", "after: is for a workload with others beside it"},
		{"{dd: {size: 1MiB}, beside: [{}]}", "beside: names no program: write one of " + kinds},
		{"{dd: {size: 1MiB}, beside: [{dd: {}}]}", "beside: dd: size is missing: write how much it writes, such as size: 96MiB"},
		{"{dd: {size: 1MiB}, beside: [{dd: {size: 1MiB}, until: noon}]}", `beside: dd: until "noon": there are foreground and done`},
		{"{dd: {size: 1MiB}, beside: [{dd: {size: 1MiB}}, {dd: {size: 2MiB}}]}", "beside: there is a dd already: give this one a name of its own (name: ...)"},
		{"{dd: {size: 1MiB}, beside: [{dd: {size: 1MiB}, beside: [{dd: {size: 1MiB}}]}]}", "beside: dd-beside-dd: beside, after, aged and settings stand with the workload itself"},
		{"{dd: {size: 1MiB}, settings: {sysctl: {vm..x: 1}}}", `settings: sysctl: "vm..x" is no name of a setting`},
		{"{dd: {size: 1MiB}, settings: {cgroup: {version: 3}}}", "settings: cgroup: version 3: there are 1 (blkio) and 2 (io)"},
	} {
		err := specs(t, "- "+tt.yaml)[0].Validate()
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.yaml, err, tt.want)
		}
	}
}

func TestBesideSpace(t *testing.T) {
	w := specs(t, "- {dd: {size: 100MiB}, after: 2s, beside: [{dd: {size: 300MiB}, until: done}, {name: b, dd: {size: 1GiB}}]}")[0]
	if got, want := w.Space(), 1424*unit.MiB; got != want {
		t.Errorf("space %s, want %s", got, want)
	}
	if got, want := w.EstimateSeconds(unit.Rate(100*unit.MiB)), 3.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("%g s, want %g", got, want)
	}
}

// fio that is cut short reports what it had done, and exits with 128.
func TestBesideFio(t *testing.T) {
	proctest.Need(t, "fio")
	s := fakeSystem(t)
	job := mounted(t, s, `
- command: {run: sleep 1}
  beside: [{fio: {options: {rw: randwrite, bs: 4k, size: 1m, time_based: 1, runtime: 60}}}]
`)
	res, _ := do(t, s, job)
	if res.Outcome.Kind != record.OK {
		t.Fatalf("outcome %+v", res.Outcome)
	}
	if v := value(t, res, "fio-randwrite: write iops"); v <= 0 {
		t.Errorf("%g writes a second", v)
	}
}

// No checkpoint, no longest one: 0 would be the best there is.
func TestNoCheckpoint(t *testing.T) {
	s := fakeSystem(t)
	job := mounted(t, s, "- ioperf: {data: 1MiB, wal: 1MiB, readers: 1, duration: 1s, checkpoint-writes: 100000000}")
	res, _ := do(t, s, job)
	if res.Outcome.Kind != record.OK || len(res.Warnings) == 0 {
		t.Fatalf("outcome %+v, warnings %q", res.Outcome, res.Warnings)
	}
	if len(res.Metrics) != len(job.Workload.Metrics())-1 || slices.ContainsFunc(res.Metrics, func(m record.Metric) bool { return m.Name == checkpointMax }) {
		t.Errorf("%+v", res.Metrics)
	}
}
