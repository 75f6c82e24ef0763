package reports

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"spindle/reports/record"
)

var update = flag.Bool("update", false, "rewrite the golden reports in testdata")

// runs are the run directories that golden reports are made of.
var runs = map[string]func(*testing.T) *record.Run{
	"kara": karaRun, "broken": brokenRun, "partial": partialRun, "aa": aaRun, "three-arms": threeArmsRun,
	"cpu-bound": cpuBoundRun, "alone": aloneRun, "nothing-yet": emptyRun, "awkward": awkwardRun,
	"baseline-broke": baselineBrokeRun, "both-broke": bothBrokeRun,
	"rest": restRun, "mistake": mistakeRun,
}

// karaRun holds the runtimes that Jan Kara posted on 26 April 2016: vanilla
// under CFQ, and version 5 of writeback throttling under CFQ and deadline.
func karaRun(t *testing.T) *record.Run {
	m := testManifest("wbt-v5", "vanilla", "wbt cfq", "wbt deadline")
	cross(&m, 3, []string{"sata"}, []string{"ext3"}, []string{""}, dd, ddFsync)
	seconds := map[string][]float64{
		"dd vanilla":            {87.9611, 87.3279, 87.2554},
		"dd wbt cfq":            {108.183, 97.184, 99.9587},
		"dd wbt deadline":       {100.417, 100.643, 100.866},
		"dd-fsync vanilla":      {93.3502, 93.2086, 93.541},
		"dd-fsync wbt cfq":      {104.9, 102.775, 102.892},
		"dd-fsync wbt deadline": {104.208, 106.341, 105.483},
	}
	r := create(t, m)
	fill(t, r, func(block int, c record.Cell) []float64 {
		s := seconds[c.Condition.Workload+" "+c.Arm][block-1]
		return []float64{s, 10000 << 20 / s}
	}, func(s *record.Sample) bool {
		s.Settings["scheduler"] = "cfq"
		if s.Arm == "wbt deadline" {
			s.Settings["scheduler"] = "deadline"
		}
		return true
	})
	return r
}

func brokenRun(t *testing.T) *record.Run {
	m := testManifest("wbt-v6", "vanilla", "wbt")
	cross(&m, 3, []string{"sata"}, []string{"ext4", "xfs", "btrfs"}, []string{"mq-deadline", "bfq"}, ddFsync)
	r := create(t, m)
	fill(t, r, ddValues(93, func(c record.Cell) float64 {
		if c.Arm == "wbt" && c.Condition.Filesystem == "ext4" {
			return 0.13
		}
		return 0
	}), func(s *record.Sample) bool {
		c := s.Condition
		switch {
		case s.Arm == "wbt" && c.Filesystem == "btrfs" && c.Scheduler == "bfq" && s.Block == 2:
			s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: "hang", Detail: "INFO: task kworker/u4:1:93 blocked for more than 120 seconds.", Log: record.ConsoleLog, Line: 412}
		case s.Arm == "wbt" && c.Filesystem == "xfs" && c.Scheduler == "bfq":
			s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: "panic", Detail: "Kernel panic - not syncing: <NULL> pointer | in wbt_wait+0x12/0x90", Log: record.ConsoleLog, Line: 388 + s.Block}
		case s.Arm == "vanilla" && c.Filesystem == "xfs" && c.Scheduler == "mq-deadline" && s.Block == 3:
			s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: "mkfs", Detail: "mkfs.xfs: exit status 1"}
		}
		if s.Outcome.Kind != record.OK {
			s.Metrics, s.Settings = nil, nil
		}
		return true
	})
	return r
}

func partialRun(t *testing.T) *record.Run {
	m := testManifest("night", "vanilla", "wbt")
	cross(&m, 3, []string{"sata"}, []string{"ext4", "xfs"}, []string{"bfq", "none"}, dd)
	r := create(t, m)
	for i, reason := range []string{"ssh-lost: keepalive unanswered for 30 s while the guest lives", "drive late: p99 of lateness is 31 ms"} {
		abandon(t, r, 2, m.Blocks[1][1], i+1, reason)
	}
	left := 11
	fill(t, r, ddValues(88, nil), func(*record.Sample) bool { left--; return left >= 0 })
	return r
}

func aaRun(t *testing.T) *record.Run {
	m := testManifest("control", "vanilla", "again")
	m.Arms[1].Kernel = "base"
	cross(&m, 5, []string{"sata"}, []string{"ext4", "xfs"}, []string{"bfq", "none"}, dd)
	r := create(t, m)
	fill(t, r, ddValues(88, nil), nil, ddCounters)
	return r
}

func threeArmsRun(t *testing.T) *record.Run {
	m := testManifest("tails", "vanilla", "wbt", "tuned")
	m.Arms[2].Sysctl = map[string]string{"vm.dirty_background_ratio": "5", "vm.dirty_ratio": "10"}
	ssd := record.Drive{Name: "ssd", Profile: "ssd", Bus: "virtio-scsi", QueueDepth: 31, SizeBytes: 250e9, Model: "ssd: 540 MB/s, 0.1 ms, queue depth 31, virtio-scsi"}
	m.Drives = append(m.Drives, ssd)
	cross(&m, 6, []string{"sata", "ssd"}, []string{"ext4", "xfs"}, []string{"mq-deadline"}, torture, ddFsync)
	r := create(t, m)
	runs := ddValues(40, nil)
	fill(t, r, func(block int, c record.Cell) []float64 {
		f := noise(0.02, block, c)
		if c.Condition.Drive == "ssd" {
			f /= 50
		}
		if c.Arm != "vanilla" && c.Condition.Drive == "sata" {
			f *= map[string]float64{"wbt": 0.7, "tuned": 0.5}[c.Arm]
		}
		if c.Condition.Workload == "dd-fsync" {
			v := runs(block, c)
			return []float64{v[0] * f, v[1] / f}
		}
		stalled := 0.0
		if c.Arm == "vanilla" && c.Condition.Drive == "sata" {
			stalled = float64(2 + block%2)
		}
		return []float64{0.34 * f, 2.1 * f * noise(0.6, block+100, c), stalled}
	}, func(s *record.Sample) bool {
		if s.Arm == "tuned" {
			s.Settings["vm.dirty_ratio"], s.Settings["vm.dirty_background_ratio"] = "10", "5"
		}
		if s.Condition.Drive == "ssd" {
			s.Settings["rotational"], s.Settings["wbt_lat_usec"] = "0", "2000"
		}
		if s.Block == 4 && s.Arm == "wbt" && s.Condition.Workload == "fsync-tester" && s.Condition.Drive == "ssd" && s.Condition.Filesystem == "xfs" {
			s.Metrics[0].Value *= 3
		}
		return true
	})
	return r
}

func cpuBoundRun(t *testing.T) *record.Run {
	m := testManifest("emulated", "linux-6.1", "linux-6.12")
	m.Machine.Accel, m.Machine.AccelWhy = "tcg", "/dev/kvm opens, but no guest boots with it"
	cross(&m, 3, []string{"sata"}, []string{"ext4", "xfs"}, []string{"none"}, dd)
	r := create(t, m)
	fill(t, r, ddValues(12, func(c record.Cell) float64 {
		if c.Arm == "linux-6.12" {
			return -0.08
		}
		return 0
	}), func(s *record.Sample) bool {
		if s.Condition.Filesystem == "xfs" {
			s.CPUBusy = 0.83 + 0.04*float64(s.Block)
			s.Drive.ModelErrorRel = 0.09
		}
		if s.Arm == "linux-6.12" {
			s.Settings["scheduler"] = "mq-deadline" // it did not take
			s.Warnings = []string{"wbt_lat_usec changed during the run: 75000, then 0"}
		}
		s.Host.Steal = 0.03
		return true
	})
	return r
}

func aloneRun(t *testing.T) *record.Run {
	m := testManifest("alone", "vanilla")
	cross(&m, 2, []string{"sata"}, []string{"ext4", "xfs"}, []string{"none"}, dd)
	r := create(t, m)
	fill(t, r, ddValues(88, nil), func(s *record.Sample) bool {
		if s.Block == 2 && s.Condition.Filesystem == "xfs" {
			s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: "oops", Detail: "BUG: unable to handle page fault", Log: record.ConsoleLog, Line: 99}
			s.Metrics = nil
		}
		return true
	})
	return r
}

// panics makes a sample one whose guest panicked before its workload, though
// its boot kept the CPU busy.
func panics(s *record.Sample) {
	s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: "panic", Detail: "Kernel panic - not syncing: sysrq", Log: record.ConsoleLog, Line: 300}
	s.Metrics, s.Settings, s.CPUBusy, s.Drive = nil, nil, 0.99, record.DriveStats{}
}

// baselineBrokeRun is on a drive without timing, and was interrupted twice.
func baselineBrokeRun(t *testing.T) *record.Run {
	m := testManifest("first", "a", "b")
	m.Drives = []record.Drive{{Name: "fast", Profile: "raw", Bus: "virtio-scsi", QueueDepth: 31, SizeBytes: 8 << 30, Model: "raw (untimed), virtio-scsi, 8.59 GB"}}
	cross(&m, 1, []string{"fast"}, []string{"ext4"}, []string{"none"}, dd)
	r := create(t, m)
	for i, reason := range []string{"interrupted", "interrupted: spindle ended before the sample was done"} {
		abandon(t, r, 1, m.Blocks[0][1], i+1, reason)
	}
	fill(t, r, ddValues(2, nil), func(s *record.Sample) bool {
		s.CPUBusy = 0.95
		s.Drive.LatenessP50, s.Drive.LatenessP99, s.Drive.LatenessMax, s.Drive.ModelErrorRel = 0, 0, 0, 0
		if s.Arm == "a" {
			panics(s)
		}
		return true
	})
	return r
}

// bothBrokeRun has each way in which two arms can break, and both kinds of
// attempts.
func bothBrokeRun(t *testing.T) *record.Run {
	m := testManifest("second", "a", "b")
	cross(&m, 3, []string{"sata"}, []string{"ext4", "xfs", "btrfs", "f2fs"}, []string{"none"}, dd)
	r := create(t, m)
	abandon(t, r, 1, m.Blocks[0][0], 1, "ssh-lost: keepalive unanswered for 30 s while the guest lives")
	abandon(t, r, 2, m.Blocks[1][0], 1, "interrupted")
	fill(t, r, ddValues(88, nil), func(s *record.Sample) bool {
		f := s.Condition.Filesystem
		if f == "ext4" || f == "xfs" && s.Arm == "a" || f == "btrfs" && s.Arm == "b" && s.Block == 2 {
			panics(s)
		}
		return true
	})
	return r
}

// restRun has a baseline that broke in one block of five, beside an arm that
// did not and one that did.
func restRun(t *testing.T) *record.Run {
	m := testManifest("rest", "vanilla", "wbt")
	cross(&m, 5, []string{"sata"}, []string{"ext4", "xfs"}, []string{"bfq"}, dd)
	r := create(t, m)
	fill(t, r, ddValues(88, func(c record.Cell) float64 {
		if c.Arm == "wbt" {
			return 0.2
		}
		return 0
	}), func(s *record.Sample) bool {
		if s.Block == 2 && (s.Arm == "vanilla" || s.Condition.Filesystem == "xfs") {
			panics(s)
		}
		return true
	})
	return r
}

// mistakeRun asks for a sysctl that neither of the kernels has, in the arms
// that ask for it, and for mount options that no kernel takes.
func mistakeRun(t *testing.T) *record.Run {
	m := testManifest("mistake", "vanilla", "tuned", "both")
	for i := range m.Arms[1:] {
		m.Arms[1+i].Sysctl = map[string]string{"vm.nope": "1"}
	}
	cross(&m, 3, []string{"sata"}, []string{"ext4", "xfs"}, []string{"bfq"}, dd)
	m.Filesystems = []record.Filesystem{{Name: "ext4"}, {Name: "xfs", Mount: []string{"nope"}}}
	r := create(t, m)
	fill(t, r, ddValues(88, nil), func(s *record.Sample) bool {
		switch {
		case s.Condition.Filesystem == "xfs":
			s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: "mount", Detail: "mount: exit status 32; the kernel said: xfs: Unknown parameter 'nope'"}
		case s.Arm != "vanilla":
			s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: "setting", Detail: "setting: set vm.nope: this kernel has no /proc/sys/vm/nope"}
		default:
			return true
		}
		s.Metrics, s.Settings = nil, nil
		return true
	})
	return r
}

func abandon(t *testing.T, r *record.Run, block int, c record.Cell, attempt int, reason string) {
	t.Helper()
	d, err := r.Begin(block, c, attempt)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Abandon(reason); err != nil {
		t.Fatal(err)
	}
}

func emptyRun(t *testing.T) *record.Run {
	m := testManifest("nothing-yet", "vanilla", "wbt")
	cross(&m, 3, []string{"sata"}, []string{"ext4"}, []string{"none"}, dd)
	return create(t, m)
}

// awkwardRun has names that fit no table and would break the markup, ten
// blocks, and values from nothing to huge.
func awkwardRun(t *testing.T) *record.Run {
	base, arm := "linux-image-6.12.57+deb13-amd64-unsigned", "linux-image-6.13~rc7-1~exp1-amd64|<b>*"
	m := testManifest("a plan with a name that nobody would give to a plan in earnest", base, arm)
	m.Seed = 18446744073709551615
	w := record.Workload{Name: "fio-randrw-on-a-file-of-48-GiB", Title: "fio random reads and writes of 8 KiB, 16 jobs, on a file of 48 GiB, direct", Metrics: []record.MetricInfo{
		{Name: "extents per file", Unit: "1", Direction: record.Lower, Primary: true},
		{Name: "bytes written", Unit: "B", Direction: record.Lower},
		{Name: "errors", Unit: "1", Direction: record.Lower},
		{Name: "read latency at the 99.99th percentile", Unit: "s", Direction: record.Lower},
		{Name: "never reported", Unit: "1/s", Direction: record.Higher},
	}}
	cross(&m, 10, []string{"sata"}, []string{"ext4 data=journal,commit=1", "xfs"}, []string{"mq-deadline", "bfq with low_latency=0"}, w)
	r := create(t, m)
	fill(t, r, func(block int, c record.Cell) []float64 {
		f := noise(0.03, block, c)
		if c.Arm == arm {
			return []float64{40 * f, 3e12 * f, 0, 3e-5 * f}
		}
		return []float64{2 * f, 3e12 * f, 0, 2.9e-5 * f}
	}, func(s *record.Sample) bool {
		if s.Block == 10 && s.Arm == arm && s.Condition.Scheduler == "mq-deadline" {
			s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: "workload", Detail: "fio: \x1b[31m<script>alert(1)</script>\nio_u error | on file " + strings.Repeat("/very-long-name", 12), Log: "stderr", Line: 3}
			s.Metrics = nil
		}
		return true
	})
	return r
}

func TestGolden(t *testing.T) {
	for name, make := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Markdown(make(t))
			if err != nil {
				t.Fatal(err)
			}
			checkText(t, string(got))
			path := filepath.Join("testdata", name+".md")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v: make it with go test ./reports -update, and read it", err)
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("report (-want +got):\n%s", d)
			}
		})
	}
}

// checkText holds a report to what every report promises.
func checkText(t *testing.T, report string) {
	t.Helper()
	if !strings.HasPrefix(report, "# ") || !strings.HasSuffix(report, "\n") {
		t.Error("report does not begin with a title and end with a line")
	}
	for i, line := range strings.Split(report, "\n") {
		if n := utf8.RuneCountInString(line); n > 72 {
			t.Errorf("line %d has %d columns: %s", i+1, n, line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == '\u00a0' || r == utf8.RuneError }) {
			t.Errorf("line %d has a character that no mail should: %q", i+1, line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("line %d ends in a space: %q", i+1, line)
		}
	}
	if strings.Contains(report, "NaN") || strings.Contains(report, "Inf") || strings.Contains(report, "%!") {
		t.Error("report shows a number that is none")
	}
	if strings.Contains(report, "\n\n\n") {
		t.Error("report has two empty lines in a row")
	}
	// Every note that is referred to exists, and the other way round.
	for i := 1; ; i++ {
		defined := strings.Contains(report, fmt.Sprintf("\n[%d] ", i))
		if !defined {
			if i > 1 && strings.Contains(report, fmt.Sprintf(",%d]", i)) || strings.Contains(report, fmt.Sprintf(" [%d]", i)) {
				t.Errorf("note %d is referred to and does not exist", i)
			}
			break
		}
	}
}
