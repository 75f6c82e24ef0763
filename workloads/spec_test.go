package workloads

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"spindle/internal/unit"
	"spindle/reports/record"
)

// specs reads a plan's list of workloads.
func specs(t testing.TB, text string) []Spec {
	t.Helper()
	var ss []Spec
	if err := yaml.UnmarshalWithOptions([]byte(text), &ss, yaml.Strict()); err != nil {
		t.Fatalf("%s:\n%v", text, err)
	}
	return ss
}

func TestSpec(t *testing.T) {
	pause := unit.Duration(300 * time.Millisecond)
	for _, tt := range []struct {
		yaml        string
		spec        Spec
		slug, title string
		seconds     float64 // at 100 MB/s
		space       unit.Size
	}{
		{
			"dd: {size: 96MiB}",
			Spec{DD: &DD{Size: 96 * unit.MiB}},
			"dd", "dd 96 MiB", 1.00663296, 96 * unit.MiB,
		},
		{
			"dd: {size: 10000MiB, conv: fsync}",
			Spec{DD: &DD{Size: 10000 * unit.MiB, Conv: "fsync"}},
			"dd-fsync", "dd 10000 MiB conv=fsync", 104.8576, 10000 * unit.MiB,
		},
		{
			"{name: valente, dd: {size: 2560kB, bs: 512B, oflag: dsync, conv: none}}",
			Spec{Name: "valente", DD: &DD{Size: 2_560_000, BS: 512, Oflag: "dsync", Conv: "none"}},
			"valente", "valente: dd 2560 kB bs=512B oflag=dsync", 0.0256 + 5000*0.002, 2_560_000,
		},
		{
			"fsync-tester: {}",
			Spec{FsyncTester: &FsyncTester{}},
			"fsync-tester", "fsync-tester, 8 GiB file, 1 MiB writes", 60 + 85.89934592, 8*unit.GiB + unit.MiB,
		},
		{
			"fsync-tester: {mode: reuse, file: 512MiB, write: 4KiB, pause: 300ms, duration: 10s, iterations: 5, random-writer: off, stall: 2s}",
			Spec{FsyncTester: &FsyncTester{
				Mode: "reuse", File: 512 * unit.MiB, Write: 4 * unit.KiB, Pause: &pause, Duration: unit.Duration(10 * time.Second),
				Iterations: 5, Random: "off", Stall: unit.Duration(2 * time.Second),
			}},
			"fsync-tester-reuse-alone", "fsync-tester second run, 512 MiB file, 4 KiB writes, no random writer", 5 * 0.7, 512*unit.MiB + 4*unit.KiB,
		},
		{
			"fio: {options: {rw: randread, bs: 4k, direct: 1, size: 64m, runtime: 30, time_based: 1}, on: device, primary: read p99}",
			Spec{Fio: &Fio{
				Options: map[string]string{"rw": "randread", "bs": "4k", "direct": "1", "size": "64m", "runtime": "30", "time_based": "1"},
				On:      "device", Primary: "read p99",
			}},
			"fio-randread", "fio randread 4k direct", 30, 64 * unit.MiB,
		},
		{
			"{age: {rounds: 4, files: 16, writers: 2}, settings: {sysctl: {vm.dirty_ratio: 5}, cgroup: {version: 1, group: root}, trace: [explain]}}",
			Spec{Age: &Age{Rounds: 4, Files: 16, Writers: 2}, Settings: &Settings{
				Sysctl: map[string]string{"vm.dirty_ratio": "5"}, Cgroup: &Cgroup{Version: 1, Group: "root"}, Trace: []string{"explain"},
			}},
			"age", "age, 4 rounds of 16 files of 4 MiB by 2 writers, vm.dirty_ratio 5, in the root cgroup (v1), traced (explain)",
			// Four rounds of 64 MiB, and half of 1, 2, 3 and 4 of them read.
			(4 + 5) * 0.67108864, unit.Size(2.5 * 1.1 * 64 * (1 << 20)),
		},
		{
			"fio:\n  job: |\n    [global]\n    size=100m\n    [w]\n    rw=write\n    numjobs=2\n    [r]\n    stonewall\n    rw=read\n",
			Spec{Fio: &Fio{Job: "[global]\nsize=100m\n[w]\nrw=write\nnumjobs=2\n[r]\nstonewall\nrw=read\n"}},
			"fio", "fio w: write numjobs=2, r: read", 3.145728, 300 * unit.MiB,
		},
	} {
		got := specs(t, "- "+strings.ReplaceAll(tt.yaml, "\n", "\n  "))[0]
		if diff := cmp.Diff(tt.spec, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.yaml, diff)
			continue
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", tt.yaml, err)
		}
		if got.Slug() != tt.slug || got.Title() != tt.title || got.Space() != tt.space {
			t.Errorf("%s: slug %q, title %q, space %s; want %q, %q, %s", tt.yaml, got.Slug(), got.Title(), got.Space(), tt.slug, tt.title, tt.space)
		}
		if s := got.EstimateSeconds(100e6); math.Abs(s-tt.seconds) > 1e-9 {
			t.Errorf("%s: %g s, want %g", tt.yaml, s, tt.seconds)
		}
		// The host sends it to the guest as JSON.
		data, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var back Spec
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, back); diff != "" {
			t.Errorf("%s: through JSON (-sent +got):\n%s", tt.yaml, diff)
		}
	}
}

func TestSpecInvalid(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{"{}", "names no program: write one of dd, fsync-tester, fio, read-to-pipe, ioperf, startup, create, age, command"},
		{"{dd: {size: 1MiB}, fsync-tester: {}}", "names more than one program: a workload is one of dd, fsync-tester, fio, read-to-pipe, ioperf, startup, create, age, command; make it two entries of the list, or run one beside the other (beside:)"},
		{"ioperf: {commits: even}", `ioperf: commits "even": there are steady and jittered`},
		{"age: {files: 15}", "age: files 15: at least two of each of 8 writers, and at most 1000000"},
		{"{dd: {size: 1MiB}, settings: {trace: [block/]}}", `settings: trace: "block/": write blk for the block tracer, groups of events such as block and writeback, one event such as block:block_rq_issue, or explain`},
		{"{name: Big One, dd: {size: 1MiB}}", `name "Big One": use lower-case letters, digits, dots and dashes`},
		{"dd: {}", "dd: size is missing: write how much it writes, such as size: 96MiB"},
		{"dd: {size: 1500kB}", "dd: size 1500kB is no multiple of bs 1MiB: dd writes whole blocks"},
		{"dd: {size: 4GiB, bs: 2GiB}", "dd: bs 2GiB is more than dd can keep in memory: write at most 1GiB"},
		{"dd: {size: 1MiB, conv: sync}", `dd: conv "sync": there are fsync, fdatasync, none`},
		{"dd: {size: 1MiB, oflag: append}", `dd: oflag "append": there are dsync, sync, direct`},
		{"dd: {size: 1kB, bs: 100B, oflag: direct}", "dd: bs 100B with oflag: direct: direct writes are multiples of 512B"},
		{"fsync-tester: {mode: warm}", `fsync-tester: mode "warm": there are fresh and reuse`},
		{"fsync-tester: {random-writer: maybe}", `fsync-tester: random-writer "maybe": write on or off`},
		{"fsync-tester: {file: 10kB}", "fsync-tester: file 10kB: write a multiple of 4KiB, at least 8KiB"},
		{"fsync-tester: {write: 2GiB}", "fsync-tester: write 2GiB: write at least 1B and at most 1GiB"},
		{"fsync-tester: {iterations: -1}", "fsync-tester: iterations -1: at least 1"},
		{"fio: {}", "fio: no job: write its text under job or its options under options"},
		{"fio: {job: '[a]', options: {rw: read}}", "fio: job and options exclude each other"},
		{"fio: {options: {rw: read}, on: tape}", `fio: on "tape": there are files and device`},
		{"fio: {options: {rw: read}, primary: write p99}", `fio: primary "write p99": the job reports read bandwidth, read iops, read mean, read p50, read p99, read p99.9, read max`},
		{"fio: {options: {bs: 4KiB}}", "fio: job line 2: bs=4KiB: fio takes KiB for 1000 bytes and kB for 1024; write 4k, 64m, 1g, which are powers of 1024"},
		{"fio: {options: {rw: randtrim}}", "fio: job job: rw=randtrim: there are read, write, randread, randwrite, rw, randrw"},
		{"fio: {options: {rw: read, filename: /dev/sda}, on: device}", "fio: job job: filename: with on: device spindle names the drive; take it out"},
		{"fio: {options: {rw: read, group_reporting: 1}}", "fio: job job: group_reporting: spindle adds up the clones of a job itself, and keeps different jobs apart; take it out"},
		{"fio: {options: {rw: read, clat_percentiles: 0}}", "fio: job job: clat_percentiles: the latencies reported are completion latencies; take it out"},
		{`fio: {options: {"rw=write\nx": read}}`, `fio: option "rw=write\nx": not one line of a job file`},
		{"fio: {job: 'rw=read'}", `fio: job line 1: "rw=read" stands before the first [section]`},
		{"fio: {job: '[global]'}", "fio: job has no [section] with a job"},
		{"fio: {job: '[a'}", `fio: job line 1: "[a" is no [section]`},
		{`fio: {job: "[a]\n[a]"}`, "fio: job line 2: there is a job a already"},
		{`fio: {job: "[a]\ninclude other"}`, "fio: job line 2: include: the file would not be in the guest; put its text here"},
		{"ioperf: {data: 100kB}", "ioperf: data 100kB: write a multiple of 8KiB, at least 1MiB"},
		{"ioperf: {wal: 1kB}", "ioperf: wal 1kB: write a multiple of 8KiB, at least 1MiB"},
		{"ioperf: {readers: -1}", "ioperf: readers -1: from 1 to 1000"},
		{"ioperf: {random: wild}", `ioperf: random "wild": there are shared and independent`},
		{"ioperf: {offsets: odd}", `ioperf: offsets "odd": there are unaligned and aligned`},
		{"ioperf: {duration: 100ms}", "ioperf: duration 100ms: at least 1s"},
		{"read-to-pipe: {to: tape}", `read-to-pipe: to "tape": there are file, gzip and null`},
		{"read-to-pipe: {bs: 1GiB}", "read-to-pipe: bs 1GiB: write at most 64MiB"},
		{"startup: {files: 10000}", "startup: files 10000: from 1 to 9999"},
		{"startup: {size: 1MiB}", "startup: size 1MiB: at least 4KiB for each of 300 files"},
		{"create: {sync: all}", `create: sync "all": there are none and fsync`},
		{"create: {processes: 1001}", "create: processes 1001: from 1 to 1000"},
		{"command: {}", "command: run is missing: write the line to run"},
		{"command: {run: x, metrics: [{name: a, unit: s, direction: up, json: a}]}", `command: metrics: a: direction "up": lower or higher is better`},
		{"command: {run: x, metrics: [{name: a, unit: s, direction: lower}]}", "command: metrics: a: write one of json and regex"},
		{"command: {run: x, metrics: [{name: a, direction: lower, json: a}]}", "command: metrics: a has no unit: write s, B/s, 1/s, or 1 for a bare number"},
		{"command: {run: x, metrics: [{name: a, unit: s, direction: lower, regex: 'a'}]}", `command: metrics: a: regex "a" has 0 groups: it wants one, around the number (write (?:...) for others)`},
		{"command: {run: x, metrics: [{name: a, unit: s, direction: lower, json: 'a..b'}]}", `command: metrics: a: json "a..b": "" is no part of a path such as jobs[0].read.iops`},
		{"command: {run: x, metrics: [{name: runtime, unit: s, direction: lower, json: a}]}", "command: metrics: runtime is there already"},
		{"command: {run: x, metrics: [{name: a, unit: s, direction: lower, json: a, from: ../b}]}", `command: metrics: a: from "../b": write stdout, stderr, or a file in the command's directory`},
		{`fio: {job: "[a:b]\nrw=read"}`, "fio: job a:b: its name has a colon, which separates job and metric in reports"},
	} {
		err := specs(t, "- "+tt.yaml)[0].Validate()
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.yaml, err, tt.want)
		}
	}
}

func TestMetrics(t *testing.T) {
	for _, tt := range []struct {
		yaml string
		want []string
	}{
		{"dd: {size: 1MiB}", []string{"runtime", "throughput"}},
		{"fsync-tester: {}", []string{"fsync p50", "fsync mean", "fsync max", "write max", "write sum", "fsyncs", "stalled writes", "random writes"}},
		{"fsync-tester: {random-writer: off}", []string{"fsync p50", "fsync mean", "fsync max", "write max", "write sum", "fsyncs", "stalled writes"}},
		{"fio: {options: {rw: randwrite, fsync: 1}, primary: fsync p99}", []string{
			"fsync p99", "write bandwidth", "write iops", "write mean", "write p50", "write p99", "write p99.9", "write max", "fsync p50", "fsync max",
		}},
		{"fio: {options: {rw: read, fsync: 1}}", []string{"read bandwidth", "read iops", "read mean", "read p50", "read p99", "read p99.9", "read max"}},
		{"age: {}", []string{"extents per file", "mean extent", "discontiguities per file", "re-read, first round", "re-read, last round", "written"}},
		{`fio: {job: "[a]\nrw=read\n[b]\nreadwrite=randwrite:4\n"}`, []string{
			"a: read bandwidth", "a: read iops", "a: read mean", "a: read p50", "a: read p99", "a: read p99.9", "a: read max",
			"b: write bandwidth", "b: write iops", "b: write mean", "b: write p50", "b: write p99", "b: write p99.9", "b: write max",
		}},
	} {
		s := specs(t, "- "+tt.yaml)[0]
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", tt.yaml, err)
		}
		var names []string
		for i, m := range s.Metrics() {
			names = append(names, m.Name)
			if m.Primary != (i == 0) {
				t.Errorf("%s: %s: primary %t", tt.yaml, m.Name, m.Primary)
			}
			if m.Unit == "" || m.Direction != record.Lower && m.Direction != record.Higher {
				t.Errorf("%s: %s: unit %q, direction %q", tt.yaml, m.Name, m.Unit, m.Direction)
			}
		}
		if diff := cmp.Diff(tt.want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.yaml, diff)
		}
	}
}

// Before Validate a Spec may be anything, and be asked anything.
func TestSpecZero(t *testing.T) {
	for _, s := range []Spec{{}, {DD: &DD{}, Fio: &Fio{}}, {Fio: &Fio{Job: "["}}, {DD: &DD{}}} {
		s.Title()
		s.Slug()
		s.Space()
		s.EstimateSeconds(1)
		s.Metrics()
	}
}
