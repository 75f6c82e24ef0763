package reports

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spindle/reports/record"
)

var (
	runtime    = record.MetricInfo{Name: "runtime", Unit: "s", Direction: record.Lower, Primary: true}
	throughput = record.MetricInfo{Name: "throughput", Unit: "B/s", Direction: record.Higher}
	fsyncP50   = record.MetricInfo{Name: "fsync p50", Unit: "s", Direction: record.Lower, Primary: true}
	fsyncMax   = record.MetricInfo{Name: "fsync max", Unit: "s", Direction: record.Lower}
	stalls     = record.MetricInfo{Name: "stalled writes", Unit: "1", Direction: record.Lower}
)

// epoch is when all generated runs began.
var epoch = time.Date(2026, 11, 30, 9, 12, 0, 0, time.UTC)

// testManifest is a run on one emulated disk, with the arms and conditions
// left to the caller.
func testManifest(name string, arms ...string) record.Manifest {
	m := record.Manifest{
		Name: name, Spindle: "v0.1.0", Command: []string{"spindle", "run", name + ".yaml"}, Started: epoch, Seed: 1,
		Plan: record.Plan{Path: name + ".yaml", Text: "name: " + name + "\n"}, Compare: "arm",
		Image: record.Image{
			Suite: "bookworm", Hash: strings.Repeat("1a2b3c4d", 8), GuestHash: strings.Repeat("5e6f", 16),
			Packages: map[string]string{"coreutils": "9.1-1", "e2fsprogs": "1.47.0-2"},
		},
		Machine: record.Machine{
			QEMU: "7.2.22", Accel: "kvm", CPUs: 2, CPUModel: "max", MemoryBytes: 4 << 30,
			Host: record.Host{CPU: "Intel(R) Xeon(R) E-2236", CPUs: 12, MemoryBytes: 64 << 30, Kernel: "6.1.0-32-amd64", OS: "Debian GNU/Linux 12 (bookworm)"},
		},
		Drives: []record.Drive{{
			Name: "sata", Profile: "sata-7200", Bus: "ahci", QueueDepth: 1, SizeBytes: 500e9,
			Model: "sata-7200: 7200 rpm, 126 to 60 MB/s, seek 8.5 ms, 16 MiB write cache, queue depth 1, ahci",
			Params: []record.Param{
				{Name: "rotation", Text: "7200 rpm", Value: 7200, Unit: "rpm"}, {Name: "outer rate", Text: "126 MB/s", Value: 126e6, Unit: "B/s"},
				{Name: "inner rate", Text: "60 MB/s", Value: 60e6, Unit: "B/s"}, {Name: "average seek", Text: "8.5 ms", Value: 8.5e-3, Unit: "s"},
				{Name: "write settle", Text: "1 ms", Value: 1e-3, Unit: "s"}, {Name: "write cache", Text: "16 MiB, volatile", Value: 16 << 20, Unit: "B"},
			},
		}},
	}
	for i, a := range arms {
		kernel := "base"
		if i > 0 {
			kernel = "patched"
		}
		m.Arms = append(m.Arms, record.Arm{Name: a, Kernel: kernel})
	}
	m.Kernels = []record.Kernel{
		{Name: "base", Source: "linux-image-6.12.57+deb13-amd64=6.12.57-1", Version: "6.12.57+deb13-amd64", Hash: strings.Repeat("9fc3a6e0", 8), ConfigHash: strings.Repeat("51ab", 16)},
		{Name: "patched", Source: "linux-image-6.12.57+wbt5-amd64=6.12.57-1", Version: "6.12.57+wbt5-amd64", Hash: strings.Repeat("77d01c2b", 8), ConfigHash: strings.Repeat("51ab", 16)},
	}
	return m
}

var dd = record.Workload{Name: "dd", Title: "dd 10000 MiB", Metrics: []record.MetricInfo{runtime, throughput}}

var ddFsync = record.Workload{Name: "dd-fsync", Title: "dd 10000 MiB conv=fsync", Metrics: []record.MetricInfo{runtime, throughput}}

var torture = record.Workload{Name: "fsync-tester", Title: "fsync-tester, 8 GiB file, 4 KiB writes", Metrics: []record.MetricInfo{fsyncP50, fsyncMax, stalls}}

// cross sets all combinations as the conditions of so many blocks.
func cross(m *record.Manifest, blocks int, drives, filesystems, schedulers []string, workloads ...record.Workload) {
	m.Workloads = workloads
	for _, d := range drives {
		for _, w := range workloads {
			for _, f := range filesystems {
				for _, s := range schedulers {
					m.Conditions = append(m.Conditions, record.Condition{Drive: d, Filesystem: f, Scheduler: s, Workload: w.Name})
				}
			}
		}
	}
	for range blocks {
		var b []record.Cell
		for _, c := range m.Conditions {
			for _, a := range m.Arms {
				b = append(b, record.Cell{Arm: a.Name, Condition: c})
			}
		}
		m.Blocks = append(m.Blocks, b)
	}
}

// create starts a run directory.
func create(t testing.TB, m record.Manifest) *record.Run {
	t.Helper()
	r, err := record.Create(filepath.Join(t.TempDir(), m.Name), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// fill commits a sample for every cell that keep has a say in; edit makes it
// special.
func fill(t testing.TB, r *record.Run, values func(block int, c record.Cell) []float64, edit func(*record.Sample) (keep bool), raw ...func(record.Sample) map[string]string) {
	t.Helper()
	m := r.Manifest()
	for i, cells := range m.Blocks {
		for j, c := range cells {
			s := testSample(m, i+1, c)
			s.Started = epoch.Add(time.Duration(i*len(cells)+j) * 2 * time.Minute)
			for k, v := range values(i+1, c) {
				s.Metrics = append(s.Metrics, record.Metric{MetricInfo: metricsOf(m, c)[k], Value: v})
			}
			if edit != nil && !edit(&s) {
				continue
			}
			n, err := r.NextAttempt(s.Block, c)
			if err != nil {
				t.Fatal(err)
			}
			d, err := r.Begin(s.Block, c, n)
			if err != nil {
				t.Fatal(err)
			}
			for _, files := range raw {
				for name, content := range files(s) {
					if err := os.WriteFile(filepath.Join(d.Dir(), name), []byte(content), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := d.Commit(s); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func metricsOf(m record.Manifest, c record.Cell) []record.MetricInfo {
	for _, w := range m.Workloads {
		if w.Name == c.Condition.Workload {
			return w.Metrics
		}
	}
	return nil
}

// testSample is a sample without metrics, as a quiet host gives it.
func testSample(m record.Manifest, block int, c record.Cell) record.Sample {
	s := record.Sample{
		Block: block, Cell: c, Outcome: record.Outcome{Kind: record.OK}, Accel: m.Machine.Accel, CPUBusy: 0.21,
		BootSeconds: 6.2, SetupSeconds: 3.1, WorkloadSeconds: 90, TotalSeconds: 101,
		Programs: map[string]string{"dd": "dd (coreutils) 9.1"},
		Settings: map[string]string{
			"rotational": "1", "write_cache": "write back", "queue_depth": "1", "nr_requests": "2", "wbt_lat_usec": "75000",
			"vm.dirty_ratio": "20", "vm.dirty_background_ratio": "10", "vm.dirty_expire_centisecs": "3000",
		},
		Drive: record.DriveStats{Requests: 10000, Writes: 9990, WriteBytes: 10000 << 20, MaxDepth: 1, LatenessP50: 22e-6, LatenessP99: 95e-6, LatenessMax: 1.3e-3, ModelErrorRel: 0.011},
		Host:  record.HostNoise{Load1: 0.2 + 0.1*float64(block), PressureIO: 0.003},
	}
	if c.Condition.Scheduler != "" {
		s.Settings["scheduler"] = c.Condition.Scheduler
	}
	if f := c.Condition.Filesystem; f != "" {
		s.Mkfs, s.Mount = "mkfs."+f+" -q /dev/sda", "mount -t "+f+" /dev/sda /mnt"
	}
	return s
}

// noise gives a factor near 1 that depends on nothing but the cell.
func noise(sd float64, block int, c record.Cell) float64 {
	h := uint64(14695981039346656037)
	for _, b := range fmt.Appendf(nil, "%d %v", block, c) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return math.Exp(sd * rand.New(rand.NewPCG(h, 0)).NormFloat64())
}

// ddValues are runtime and throughput of a dd that takes so long, with the
// changes that arms bring and 0.5 % of noise.
func ddValues(seconds float64, change func(c record.Cell) float64) func(int, record.Cell) []float64 {
	return func(block int, c record.Cell) []float64 {
		t := seconds * (1 + 0.02*float64(block)) * noise(0.005, block, c)
		if change != nil {
			t *= 1 + change(c)
		}
		t = math.Round(t*1e4) / 1e4
		return []float64{t, 10000 << 20 / t}
	}
}

// ddCounters are the counters of a dd of 300 MB to a drive of 30 MB/s: dirty
// pages grow to a limit, then as fast as the drive writes them.
func ddCounters(s record.Sample) map[string]string {
	rate := 30.0 * 120 / s.Metrics[0].Value // MB/s
	var disk, vm strings.Builder
	for i := range 12 {
		t := float64(i) + 0.01*float64(s.Block)
		fmt.Fprintf(&disk, `{"t":%.3f,"monotonic_ns":1,"reads":3,"read_sectors":24,"writes":%d,"write_sectors":%d}`+"\n", t, i*60, int(rate*1e6*max(0, t-1)/512))
		fmt.Fprintf(&vm, `{"t":%.3f,"nr_dirty":%d,"nr_writeback":%d}`+"\n", t, int(1000*rate*min(t, 4)/4), int(50*rate))
	}
	vm.WriteString(`{"t":12.0,"nr_di`) // the guest died here
	return map[string]string{record.Diskstats: disk.String(), record.Vmstat: vm.String()}
}
