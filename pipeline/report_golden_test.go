package pipeline

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"spindle/reports"
	"spindle/reports/record"
)

// What a report of each plan that is built in looks like, with figures that were
// drawn: a tenth more time for the second arm under every other condition, three
// times the tail for it everywhere, 2 % of noise, and one hung guest. It is there
// to be read, in a terminal of 72 columns.
func TestGoldenReports(t *testing.T) {
	for _, name := range EmbeddedNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, _ := Embedded(name)
			p, err := Load(name+".yaml", text)
			if err != nil {
				t.Fatal(err)
			}
			env := envAt(1_796_000_000)
			env.Version, env.Command = "v0.1.0", []string{"spindle", "run", name}
			kit := kitOf(p)
			for k, a := range kit.Kernels {
				a.Source = "linux-image-6.12.57+deb13-cloud-amd64=6.12.57-1"
				a.Version, a.Hash = "6.12.57+deb13-cloud-amd64", strings.Repeat("9fc3a6e0", 8)
				if k == "old" {
					a.Source = "linux-image-6.1.0-43-cloud-amd64=6.1.162-1"
					a.Version, a.Hash = "6.1.0-43-cloud-amd64", strings.Repeat("77d01c2b", 8)
				}
				kit.Kernels[k] = a
			}
			m := manifest(env, kit, p)
			m.Plan.Path = name + ".yaml"
			m.Machine.Host = record.Host{CPU: "Intel(R) Xeon(R) E-2236", CPUs: 12, MemoryBytes: 64 << 30, Kernel: "6.1.0-32-amd64", OS: "Debian GNU/Linux 12 (bookworm)"}
			dir := filepath.Join(t.TempDir(), name)
			r, err := record.Create(dir, m)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if err := drawSamples(r); err != nil {
				t.Fatal(err)
			}
			report, err := reports.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			got, err := report.Render("md", false)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(got), "\n") {
				if n := utf8.RuneCountInString(line); n > 72 {
					t.Errorf("line %d has %d columns: %s", i+1, n, line)
				}
			}
			golden := filepath.Join("testdata", "reports", name+".md")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v: make it with go test ./pipeline -run GoldenReports -update, and read it", err)
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("report (-want +got):\n%s", d)
			}
		})
	}
}

// drawSamples commits a sample for every cell of a run.
func drawSamples(r *record.Run) error {
	m := r.Manifest()
	metrics := map[string][]record.MetricInfo{}
	for _, w := range m.Workloads {
		metrics[w.Name] = w.Metrics
	}
	for b, cells := range m.Blocks {
		for i, c := range cells {
			d, err := r.Begin(b+1, c, 1)
			if err != nil {
				return err
			}
			s := drawnSample(m, b+1, c, metrics[c.Condition.Workload])
			s.Started = m.Started.Add(time.Duration(b*len(cells)+i) * time.Minute)
			if b == 1 && i == len(cells)/2 {
				s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: "hang", Detail: "INFO: task kworker/u2:1:93 blocked for more than 120 seconds.", Log: record.ConsoleLog, Line: 412}
				s.Metrics = nil
			}
			if err := d.Commit(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func drawnSample(m record.Manifest, block int, c record.Cell, metrics []record.MetricInfo) record.Sample {
	seed := func(parts ...any) *rand.Rand {
		h := fnv.New64a()
		fmt.Fprint(h, parts...)
		return rand.New(rand.NewPCG(h.Sum64(), 0))
	}
	s := record.Sample{
		Outcome: record.Outcome{Kind: record.OK}, Accel: m.Machine.Accel, CPUBusy: 0.3,
		BootSeconds: 6.2, SetupSeconds: 3.1, WorkloadSeconds: 40, TotalSeconds: 51,
		Settings: map[string]string{
			"rotational": "1", "write_cache": "write back", "queue_depth": "1", "nr_requests": "2", "wbt_lat_usec": "75000",
			"vm.dirty_ratio": "20", "vm.dirty_background_ratio": "10", "vm.dirty_expire_centisecs": "3000",
		},
		Drive: record.DriveStats{Requests: 10000, Writes: 9990, WriteBytes: 600 << 20, MaxDepth: 1, LatenessP50: 22e-6, LatenessP99: 95e-6, LatenessMax: 1.3e-3, ModelErrorRel: 0.011},
		Host:  record.HostNoise{Load1: 0.3, PressureIO: 0.003},
	}
	if c.Condition.Scheduler != "" {
		s.Settings["scheduler"] = c.Condition.Scheduler
	}
	if f := c.Condition.Filesystem; f != "" && f != "none" {
		s.Mkfs, s.Mount = "mkfs."+f+" -q /dev/sda", "mount -t "+f+" /dev/sda /mnt"
	}
	changed := c.Arm != m.Arms[0].Name && seed(c.Condition).IntN(2) == 0
	for _, info := range metrics {
		// What a metric is by its unit, a condition's own level, and noise.
		v := map[string]float64{"s": 0.02, "B/s": 14e6, "1/s": 220, "1": 4}[info.Unit]
		if strings.HasSuffix(info.Name, "runtime") {
			v = 42
		}
		tail := strings.HasSuffix(info.Name, "max") || strings.Contains(info.Name, "p99")
		v *= math.Exp(0.4*seed(info.Name, c.Condition).NormFloat64() + 0.02*seed(info.Name, block, c).NormFloat64())
		switch {
		case tail && c.Arm != m.Arms[0].Name:
			v *= 3
		case changed && info.Direction == record.Lower:
			v *= 1.1
		case changed:
			v /= 1.1
		}
		if info.Unit == "1" {
			v = math.Round(v)
		}
		s.Metrics = append(s.Metrics, record.Metric{MetricInfo: info, Value: v})
	}
	return s
}
