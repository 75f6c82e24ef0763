package sample

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
)

const diskstats = `   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17
   8       0 sda 101 102 103 104 201 202 203 204 3 301 302 401 402 403 404 501 502
   8      16 sdb 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17
`

const vmstat = `nr_free_pages 200000
nr_dirty 7
nr_writeback 8
nr_writeback_temp 99
nr_dirtied 1000
nr_written 900
nr_dirty_threshold 40000
nr_dirty_background_threshold 20000
pgpgin 1
`

const stat = `cpu  100 10 200 700 50 5 6 7 20 2
cpu0 100 10 200 700 50 5 6 7 20 2
ctxt 1
btime 1
processes 1
procs_running 1
procs_blocked 2
softirq 1 0 0 0 0 0 0 0 0 0 1
`

const bdi = `BdiWriteback:                0 kB
BdiReclaimable:         102400 kB
BdiDirtyThresh:         163840 kB
BdiWriteBandwidth:      102400 kBps
b_dirty:                     1
bdi_list:                    1
state:                       1
`

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read[T any](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v: %s", path, err, sc.Text())
		}
		out = append(out, v)
	}
	return out
}

func guest(t *testing.T) Config {
	root := t.TempDir()
	write(t, root+"/proc/diskstats", diskstats)
	write(t, root+"/proc/vmstat", vmstat)
	write(t, root+"/proc/stat", stat)
	write(t, root+"/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=45\n")
	write(t, root+"/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n")
	write(t, root+"/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
	write(t, root+"/proc/meminfo", "MemTotal:        1000000 kB\nMemFree:          500000 kB\nCached:             3000 kB\nDirty:                28 kB\nHugePages_Total:       0\n")
	write(t, root+"/debug/bdi/8:0/stats", bdi)
	return Config{Proc: root + "/proc", Debug: root + "/debug", Drive: "sda", BDI: "8:0", Dir: t.TempDir()}
}

func TestSampler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := guest(t)
		boot := time.Now().Add(-100 * time.Second)
		cfg.Monotonic = func() time.Duration { return time.Since(boot) }
		s, err := Start(cfg)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond)
		write(t, cfg.Proc+"/stat", strings.Replace(stat, "cpu  100 10 200 700 50 5 6 7", "cpu  130 10 240 730 50 5 6 7", 1))
		busy, err := s.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if want := 0.7; math.Abs(busy-want) > 1e-9 {
			t.Errorf("busy %g, want %g", busy, want)
		}
		at := []Stamp{{0, 100e9}, {1, 101e9}, {2, 102e9}, {2.5, 102.5e9}}
		disks := read[Disk](t, filepath.Join(cfg.Dir, DiskstatsFile))
		var stamps []Stamp
		for _, d := range disks {
			stamps = append(stamps, d.Stamp)
		}
		if diff := cmp.Diff(at, stamps); diff != "" {
			t.Errorf("stamps (-want +got):\n%s", diff)
		}
		want := Disk{at[0], 101, 102, 103, 104, 201, 202, 203, 204, 3, 301, 302, 401, 402, 403, 404, 501, 502}
		if diff := cmp.Diff(want, disks[0]); diff != "" {
			t.Errorf("disk (-want +got):\n%s", diff)
		}
		vm := read[VM](t, filepath.Join(cfg.Dir, VmstatFile))
		wantVM := VM{at[3], 7, 8, 1000, 900, 40000, 20000, map[string]int64{
			"BdiWriteback": 0, "BdiReclaimable": 102400, "BdiDirtyThresh": 163840, "BdiWriteBandwidth": 102400, "b_dirty": 1, "bdi_list": 1,
		}, map[string]int64{"MemFree": 500000, "Dirty": 28, "Cached": 3000}}
		if diff := cmp.Diff(wantVM, vm[len(vm)-1]); diff != "" {
			t.Errorf("vm (-want +got):\n%s", diff)
		}
		cpu := read[CPU](t, filepath.Join(cfg.Dir, StatFile))
		wantCPU := CPU{at[3], 1.3, 0.1, 2.4, 7.3, 0.5, 0.05, 0.06, 0.07, 2, 123, 45, 7, 9}
		if diff := cmp.Diff(wantCPU, cpu[len(cpu)-1]); diff != "" {
			t.Errorf("cpu (-want +got):\n%s", diff)
		}
	})
}

// Without pressure and debugfs the rest is sampled all the same.
func TestSamplerWithout(t *testing.T) {
	cfg := guest(t)
	if err := os.RemoveAll(cfg.Proc + "/pressure"); err != nil {
		t.Fatal(err)
	}
	cfg.BDI = "btrfs-1"
	s, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if vm := read[VM](t, filepath.Join(cfg.Dir, VmstatFile)); vm[0].BDI != nil {
		t.Errorf("BDI %v", vm[0].BDI)
	}
}

func TestSamplerFails(t *testing.T) {
	cfg := guest(t)
	cfg.Drive = "sdz"
	if _, err := Start(cfg); err == nil || !strings.Contains(err.Error(), "diskstats: no sdz") {
		t.Errorf("no such drive: %v", err)
	}
	cfg = guest(t)
	write(t, cfg.Proc+"/vmstat", "nr_dirty 1\n")
	if _, err := Start(cfg); err == nil || !strings.Contains(err.Error(), "5 fields are missing") {
		t.Errorf("no dirty fields: %v", err)
	}
	cfg = guest(t)
	s, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(cfg.Proc + "/vmstat"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stop(); err == nil {
		t.Error("a counter that vanished is no error")
	}
}

func TestBusy(t *testing.T) {
	base := procfs.CPUStat{User: 10, Idle: 100, Iowait: 50}
	for _, tt := range []struct {
		name string
		b    procfs.CPUStat
		want float64
	}{
		{"nothing passed", base, 0},
		{"half", procfs.CPUStat{User: 11, Idle: 101, Iowait: 50}, 0.5},
		{"waiting is idle", procfs.CPUStat{User: 11, Idle: 100, Iowait: 53}, 0.25},
		{"iowait backwards", procfs.CPUStat{User: 11, Idle: 101, Iowait: 20}, 0.5},
		{"all kinds", procfs.CPUStat{User: 11, Nice: 1, System: 1, IRQ: 1, SoftIRQ: 1, Steal: 1, Idle: 102, Iowait: 50}, 0.75},
		{"guest time is in user", procfs.CPUStat{User: 11, Guest: 1, Idle: 101, Iowait: 50}, 0.5},
	} {
		if got := Busy(base, tt.b); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", tt.name, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(vmstat)
	f.Add(bdi)
	f.Add("nr_dirty -1\nx: 99999999999999999999 kB\n")
	f.Fuzz(func(t *testing.T, text string) {
		var v VM
		v.parse(text)
		parseBDI(text)
	})
}
