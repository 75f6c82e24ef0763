package workloads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"spindle/internal/proc/proctest"
	"spindle/internal/unit"
	"spindle/reports/record"
)

// do runs a job on the fake system and checks that the result can be sent.
func do(t *testing.T, s System, job Job) (Result, *recorder) {
	t.Helper()
	rec := &recorder{}
	res := s.Do(t.Context(), job, rec.handshake())
	data, err := json.Marshal(res)
	if err != nil {
		t.Fatalf("result: %v", err)
	}
	var back Result
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(res, back, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("result through JSON:\n%s", diff)
	}
	return res, rec
}

func ddJob(s System) Job {
	return Job{
		Drive: "d0", Filesystem: NoFilesystem, Scheduler: "bfq",
		Workload: Spec{DD: &DD{Size: 4 * unit.MiB, Conv: "fsync"}},
		Dir:      filepath.Join(s.Root, "out"),
	}
}

func phases(r Result) string {
	var names []string
	for _, p := range r.Phases {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

func value(t *testing.T, r Result, name string) float64 {
	t.Helper()
	for _, m := range r.Metrics {
		if m.Name == name {
			return m.Value
		}
	}
	t.Fatalf("no metric %s in %+v", name, r.Metrics)
	return 0
}

const allPhases = "modules drive settings programs mkfs mount prepare sync versions settle wait workload collect"

func TestDoDD(t *testing.T) {
	proctest.Need(t, "dd")
	s := fakeSystem(t)
	if err := os.WriteFile(s.path("dev/sda"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	job := ddJob(s)
	rec := &recorder{at: func() string {
		st, err := os.Stat(s.path("dev/sda"))
		if err != nil {
			return err.Error()
		}
		return unit.Size(st.Size()).String()
	}}
	res := s.Do(t.Context(), job, rec.handshake())
	if res.Outcome != (record.Outcome{Kind: record.OK}) {
		t.Fatalf("outcome %+v", res.Outcome)
	}
	// Nothing of the workload before the go, all of it before the done.
	if diff := cmp.Diff([]string{"ready (3B)", "done (4MiB)"}, rec.told); diff != "" {
		t.Errorf("handshake (-want +got):\n%s", diff)
	}
	if got := phases(res); got != allPhases {
		t.Errorf("phases %s", got)
	}
	seconds := value(t, res, "runtime")
	if rate := value(t, res, "throughput"); seconds <= 0 || rate < 0.99*float64(4<<20)/seconds || rate > 1.01*float64(4<<20)/seconds {
		t.Errorf("runtime %g s, throughput %g B/s", seconds, rate)
	}
	if res.Settings["scheduler"] != "bfq" || res.Mkfs != "" || res.Mount != "" {
		t.Errorf("scheduler %q, mkfs %q, mount %q", res.Settings["scheduler"], res.Mkfs, res.Mount)
	}
	if !strings.HasPrefix(res.Programs["dd"], "dd (coreutils)") {
		t.Errorf("programs %v", res.Programs)
	}
	for _, name := range []string{"stdout", "stderr", "diskstats.jsonl", "vmstat.jsonl", "stat.jsonl", "dmesg.txt"} {
		if _, err := os.Stat(filepath.Join(job.Dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestDoFio(t *testing.T) {
	proctest.Need(t, "fio")
	s := fakeSystem(t)
	job := ddJob(s)
	job.Workload = Spec{Fio: &Fio{Job: "[global]\nioengine=psync\nsize=1m\nbs=4k\n[r]\nrw=randread\n[w]\nstonewall\nrw=write\nfsync=64\nnumjobs=2\n", Primary: "w: fsync p99"}}
	res, rec := do(t, s, job)
	if res.Outcome.Kind != record.OK {
		t.Fatalf("outcome %+v", res.Outcome)
	}
	if diff := cmp.Diff([]string{"ready", "done"}, rec.told); diff != "" {
		t.Errorf("handshake (-want +got):\n%s", diff)
	}
	if res.Metrics[0].Name != "w: fsync p99" || !res.Metrics[0].Primary || len(res.Metrics) != len(job.Workload.Metrics()) {
		t.Errorf("metrics %+v", res.Metrics)
	}
	for _, m := range res.Metrics {
		if m.Value <= 0 {
			t.Errorf("%s is %g", m.Name, m.Value)
		}
	}
	text, err := os.ReadFile(filepath.Join(job.Dir, "job.fio"))
	if want := "[global]\nfilename=" + s.path("dev/sda") + "\n" + job.Workload.Fio.Job; err != nil || string(text) != want {
		t.Errorf("job file %q, %v; want %q", text, err, want)
	}
	if data, err := os.ReadFile(filepath.Join(job.Dir, "fio.json")); err != nil || !json.Valid(data) {
		t.Errorf("fio.json: %v, %d bytes", err, len(data))
	}
}

// A file system of a fake kind: mkfs and mount are scripts, and the mount point
// is a plain directory.
func TestDoFsyncTester(t *testing.T) {
	for _, mode := range []string{"fresh", "reuse"} {
		t.Run(mode, func(t *testing.T) {
			s := fakeSystem(t)
			script(t, "mkfs.ext4", `[ "$1" = -V ] && { echo "mke2fs 1.47.0 (5-Feb-2023)" >&2; exit 0; }; echo made`)
			script(t, "mount", `echo mounted`)
			pause := unit.Duration(5 * time.Millisecond)
			job := ddJob(s)
			job.Filesystem = "ext4"
			job.MountOptions = []string{"noatime", "commit=30"}
			job.Workload = Spec{FsyncTester: &FsyncTester{
				Mode: mode, File: 64 * unit.KiB, Write: 4 * unit.KiB, Pause: &pause, Iterations: 3,
			}}
			filled := func() string {
				st, err := os.Stat(filepath.Join(s.Mount, "fsync-tester.rnd-file"))
				if err != nil {
					return "no file"
				}
				return unit.Size(st.Size()).String()
			}
			rec := &recorder{at: filled}
			res := s.Do(t.Context(), job, rec.handshake())
			if res.Outcome.Kind != record.OK {
				t.Fatalf("outcome %+v", res.Outcome)
			}
			want := map[string]string{"fresh": "ready (no file)", "reuse": "ready (64KiB)"}[mode]
			if rec.told[0] != want {
				t.Errorf("told %q, want %q first", rec.told, want)
			}
			node := s.path("dev/sda")
			if want := "mkfs.ext4 -F -q -E lazy_itable_init=0,lazy_journal_init=0 " + node; res.Mkfs != want {
				t.Errorf("mkfs %q, want %q", res.Mkfs, want)
			}
			if want := "mount -t ext4 -o noatime,commit=30 " + node + " " + s.Mount; res.Mount != want {
				t.Errorf("mount %q, want %q", res.Mount, want)
			}
			if got, want := res.Programs["mkfs.ext4"], "mke2fs 1.47.0 (5-Feb-2023)"; got != want {
				t.Errorf("mkfs version %q, want %q", got, want)
			}
			if res.Settings["mount"] != "rw,noatime" {
				t.Errorf("mount options %q", res.Settings["mount"])
			}
			setup, err := os.ReadFile(filepath.Join(job.Dir, "setup.txt"))
			if want := "$ " + res.Mkfs + "\nmade\n$ " + res.Mount + "\nmounted\n"; err != nil || string(setup) != want {
				t.Errorf("setup.txt %q, %v; want %q", setup, err, want)
			}
			if n := value(t, res, "fsyncs"); n != 3 {
				t.Errorf("%g fsyncs", n)
			}
			out, err := os.ReadFile(filepath.Join(job.Dir, "stdout"))
			if err != nil || strings.Count(string(out), "fsync time:") != 3 || strings.Contains(string(out), "setting up") != (mode == "fresh") {
				t.Errorf("stdout %q, %v", out, err)
			}
		})
	}
}

func TestDoFails(t *testing.T) {
	ext4 := func(t *testing.T, s System, j *Job) {
		j.Filesystem = "ext4"
		script(t, "mkfs.ext4", "exit 0")
		script(t, "mount", "exit 0")
	}
	for _, tt := range []struct {
		name string
		prep func(t *testing.T, s System, j *Job)
		want record.Outcome // Detail is a part of it
		told int            // handshakes
	}{
		{
			"invalid", func(_ *testing.T, _ System, j *Job) { j.Filesystem = "ntfs" },
			record.Outcome{Kind: record.Machinery, Reason: "job", Detail: `job: filesystem "ntfs"`}, 0,
		},
		{
			"no drive", func(_ *testing.T, _ System, j *Job) { j.Drive = "d9" },
			record.Outcome{Kind: record.Machinery, Reason: "drive-missing", Detail: `find drive with serial d9: not there after 50ms; there are sda (serial "d0")`}, 0,
		},
		{
			"module", func(t *testing.T, s System, j *Job) {
				j.Modules = []string{"xfs"}
				put(t, s.Modules+"/modules.json", `{"order": [{"name": "xfs", "file": "xfs.ko"}]}`)
			},
			record.Outcome{Kind: record.KernelFault, Reason: "module", Detail: "load module xfs: "}, 0,
		},
		{
			"setting", func(_ *testing.T, _ System, j *Job) { j.Queue = map[string]string{"wonder": "1"} },
			record.Outcome{Kind: record.KernelFault, Reason: "setting", Detail: "set wonder: this kernel has no "}, 0,
		},
		{
			"program", func(t *testing.T, _ System, j *Job) {
				j.Filesystem = "f2fs"
				t.Setenv("PATH", t.TempDir())
			},
			record.Outcome{Kind: record.Machinery, Reason: "program-missing", Detail: "dd is not in the guest's image; add coreutils to the plan's image: packages:"}, 0,
		},
		{
			"mkfs", func(t *testing.T, s System, j *Job) {
				ext4(t, s, j)
				script(t, "mkfs.ext4", `[ "$1" = -V ] && exit 1; echo "mkfs.ext4: no" >&2; exit 1`)
			},
			record.Outcome{Kind: record.KernelFault, Reason: "mkfs", Detail: "mkfs.ext4 -F -q -E lazy_itable_init=0,lazy_journal_init=0 ", Log: "setup.txt"}, 0,
		},
		{
			"mount", func(t *testing.T, s System, j *Job) {
				ext4(t, s, j)
				script(t, "mount", `echo "<3>[    3.0] EXT4-fs: Unknown parameter 'wonder'" >>`+s.path("kmsg")+`
					echo "mount: wrong fs type" >&2; exit 32`)
			},
			record.Outcome{Kind: record.KernelFault, Reason: "mount", Detail: "exit status 32: mount: wrong fs type; the kernel said: EXT4-fs: Unknown parameter 'wonder'", Log: "setup.txt"}, 0,
		},
		{
			"mkfs hangs", func(t *testing.T, s System, j *Job) {
				ext4(t, s, j)
				j.Limit = unit.Duration(300 * time.Millisecond)
				script(t, "mkfs.ext4", `[ "$1" = -V ] && exit 0; sleep 1000`)
			},
			record.Outcome{Kind: record.KernelFault, Reason: "limit", Detail: "mkfs.ext4 ran longer than its limit of 300ms and was killed", Log: "dmesg.txt", Line: 2}, 0,
		},
		{
			"space", func(_ *testing.T, _ System, j *Job) { j.Workload.DD.Size = 9 * unit.MiB },
			record.Outcome{Kind: record.Machinery, Reason: "space", Detail: "dd 9 MiB conv=fsync fills 9 MiB and the drive has 8 MiB free"}, 0,
		},
		{
			"workload", func(t *testing.T, _ System, _ *Job) {
				script(t, "dd", `[ "$1" = --version ] && exit 0; echo "dd: error writing: Input/output error" >&2; exit 1`)
			},
			record.Outcome{Kind: record.KernelFault, Reason: "workload", Detail: "exit status 1: dd: error writing: Input/output error", Log: "stderr"}, 2,
		},
		{
			"half a workload", func(t *testing.T, _ System, _ *Job) {
				script(t, "dd", `[ "$1" = --version ] && exit 0; echo "512 bytes copied, 0.1 s, 5.1 kB/s" >&2`)
			},
			record.Outcome{Kind: record.KernelFault, Reason: "workload", Detail: "dd wrote 512 of 4194304 bytes and called it success"}, 2,
		},
		{
			"no report", func(t *testing.T, _ System, _ *Job) { script(t, "dd", "exit 0") },
			record.Outcome{Kind: record.Machinery, Reason: "job", Detail: "read dd's report: "}, 2,
		},
		{
			"limit", func(t *testing.T, _ System, j *Job) {
				j.Limit = unit.Duration(300 * time.Millisecond)
				script(t, "dd", `[ "$1" = --version ] && exit 0; sleep 1000`)
			},
			record.Outcome{Kind: record.KernelFault, Reason: "limit", Detail: "dd ran longer than its limit of 300ms and was killed", Log: "dmesg.txt", Line: 2}, 2,
		},
		{
			"fio", func(_ *testing.T, _ System, j *Job) {
				j.Workload = Spec{Fio: &Fio{Options: map[string]string{"rw": "read", "size": "1m", "ioengine": "wonder"}}}
			},
			record.Outcome{Kind: record.KernelFault, Reason: "workload", Detail: "fio --output-format=json+ --eta=never ", Log: "stderr"}, 2,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proctest.Need(t, "dd", "fio", "sleep")
			s := fakeSystem(t)
			put(t, s.path("kmsg"), "<6>[    1.0] EXT4-fs: of an earlier mount\n<6>[    2.0] sysrq: Show Blocked State\n")
			s.Kmsg = func() (string, error) {
				text, err := os.ReadFile(s.path("kmsg"))
				return string(text), err
			}
			job := ddJob(s)
			tt.prep(t, s, &job)
			res, rec := do(t, s, job)
			got := res.Outcome
			if !strings.Contains(got.Detail, tt.want.Detail) || strings.Contains(got.Detail, "\n") {
				t.Errorf("detail %q, want %q in it", got.Detail, tt.want.Detail)
			}
			got.Detail = tt.want.Detail
			if got != tt.want {
				t.Errorf("outcome %+v, want %+v", got, tt.want)
			}
			if len(rec.told) != tt.told || len(res.Metrics) != 0 {
				t.Errorf("told %q, metrics %v", rec.told, res.Metrics)
			}
		})
	}
}

func TestDoHostGone(t *testing.T) {
	proctest.Need(t, "dd")
	s := fakeSystem(t)
	gone := errors.New("the host hung up")
	res := s.Do(t.Context(), ddJob(s), Handshake{Ready: func() error { return gone }, Done: func() error { return nil }})
	if res.Outcome.Kind != record.Machinery || !strings.Contains(res.Outcome.Detail, gone.Error()) {
		t.Errorf("outcome %+v", res.Outcome)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("told to stop"))
	res = s.Do(ctx, ddJob(s), (&recorder{}).handshake())
	if res.Outcome.Kind != record.Machinery || !strings.Contains(res.Outcome.Detail, "told to stop") {
		t.Errorf("outcome %+v", res.Outcome)
	}
}

// Trouble in the kernel's log goes along with a good result.
func TestDoWarnings(t *testing.T) {
	proctest.Need(t, "dd")
	s := fakeSystem(t)
	s.Kmsg = func() (string, error) { return kernelLogText, nil }
	res, _ := do(t, s, ddJob(s))
	if res.Outcome.Kind != record.OK || len(res.Warnings) != 11 || !strings.HasPrefix(res.Warnings[0], "kernel log: <4>[    2.000000] WARNING: CPU: 0") {
		t.Errorf("outcome %+v, warnings %q", res.Outcome, res.Warnings)
	}
}

// A drive that something else uses is waited for, but not for ever.
func TestSettle(t *testing.T) {
	for _, tt := range []struct {
		busy, want time.Duration
		warnings   int
	}{
		{0, 20 * time.Millisecond, 0},
		{60 * time.Millisecond, 80 * time.Millisecond, 0},
		{time.Hour, 600 * time.Millisecond, 1},
	} {
		r := testRun(t, Job{})
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			go func() {
				for i := range tt.busy / time.Millisecond {
					// At once: the drive must not be seen without counters.
					put(t, r.drive.Path("new"), fmt.Sprint(i))
					if err := os.Rename(r.drive.Path("new"), r.drive.Path("stat")); err != nil {
						t.Error(err)
					}
					select {
					case <-time.After(time.Millisecond):
					case <-ctx.Done():
						return
					}
				}
			}()
			start := time.Now()
			var err error
			if r.rest, err = r.look(); err != nil {
				t.Error(err)
			}
			if err := r.settle(ctx); err != nil {
				t.Error(err)
			}
			// It looks ten times in the 20 ms that the drive must rest.
			if d := time.Since(start); d < tt.want || d > tt.want+4*time.Millisecond {
				t.Errorf("busy for %s: waited %s, want %s", tt.busy, d, tt.want)
			}
			stop()
			synctest.Wait()
		})
		if len(r.result.Warnings) != tt.warnings {
			t.Errorf("busy for %s: warnings %q", tt.busy, r.result.Warnings)
		}
	}
}
