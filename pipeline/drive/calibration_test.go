package drive

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

var update = flag.Bool("update", false, "write calibration.md")

// closedLoop keeps depth requests in a model, in virtual time, and gives the
// mean time of one, and how many were done per second. The first skip are not
// counted.
func closedLoop(t testing.TB, s Spec, depth, skip, n int, next func() timing.Request) (mean time.Duration, perSecond float64) {
	t.Helper()
	m, err := s.Model(1)
	if err != nil {
		t.Fatal(err)
	}
	var now, sum, from time.Duration
	arrived := map[uint64]time.Duration{}
	var id uint64
	add := func() {
		id++
		r := next()
		r.ID = id
		arrived[id] = now
		m.Arrive(now, r)
	}
	for range depth {
		add()
	}
	for done := 0; done < skip+n; {
		due, ok := m.Next()
		if !ok {
			t.Fatal("model stands still")
		}
		now = max(now, due)
		for _, c := range m.Advance(now) {
			if done++; done > skip {
				sum += c.At - arrived[c.ID]
			} else {
				from = now
			}
			delete(arrived, c.ID)
			add()
		}
	}
	return sum / time.Duration(n), float64(n) / (now - from).Seconds()
}

// randomly makes requests of sectors at random places of the first size bytes.
func randomly(op timing.Op, size, sectors int64, fua bool) func() timing.Request {
	r := rand.New(rand.NewPCG(42, 42))
	return func() timing.Request {
		return timing.Request{Op: op, LBA: r.Int64N((size/512-sectors)/8) * 8, Sectors: sectors, FUA: fua}
	}
}

func sequentially(op timing.Op, sectors int64) func() timing.Request {
	lba := -sectors
	return func() timing.Request {
		lba += sectors
		return timing.Request{Op: op, LBA: lba, Sectors: sectors}
	}
}

func within(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s = %.4g, want %.4g to %.4g", what, got, low, high)
	}
}

// target is a figure of a real machine, and what the model makes of it.
type target struct {
	what, from string
	low, high  float64
	unit       string
	model      func(t *testing.T) float64
}

const (
	perc   = "PERC 6/E, 12 near-line disks of 2 TB, RAID 0"
	march  = "linux-mm, March 2014"
	dd     = "dd of 10000 MiB"
	file48 = 48 << 30
)

var (
	percSpec = Spec{Profile: "nlsas-2t", Count: 12, RAID: "0", Controller: "perc-6e"}
	h710Spec = Spec{Profile: "ssd-sata", Count: 2, RAID: "0", Controller: "h710"}
)

func rate(s Spec, depth, n int, op timing.Op, sectors int64) func(*testing.T) float64 {
	return func(t *testing.T) float64 {
		_, per := closedLoop(t, s, depth, 0, n, sequentially(op, sectors))
		return per * float64(sectors) * 512 / 1e6
	}
}

func iops(s Spec, depth, skip, n int, op timing.Op, size, sectors int64) func(*testing.T) float64 {
	return func(t *testing.T) float64 {
		_, per := closedLoop(t, s, depth, skip, n, randomly(op, size, sectors, false))
		return per
	}
}

func latency(s Spec, n int, op timing.Op, size, sectors int64) func(*testing.T) float64 {
	return func(t *testing.T) float64 {
		mean, _ := closedLoop(t, s, 1, 0, n, randomly(op, size, sectors, false))
		return mean.Seconds() * 1e3
	}
}

var targets = []target{
	{"sata-7200: " + dd + " in requests of 1280 KiB, depth 1", "linux-fsdevel, April 2016", 112, 120, "MB/s",
		rate(Spec{Profile: "sata-7200"}, 1, 8000, timing.Write, 2560)},
	{"sata-7200: the same, read at depth 16", "linux-fsdevel, April 2016", 112, 120, "MB/s",
		rate(Spec{Profile: "sata-7200"}, 16, 8000, timing.Read, 2560)},
	{perc + ": random read of 8 KiB in 48 GiB, depth 64", march, 1800, 2200, "/s", iops(percSpec, 64, 0, 10000, timing.Read, file48, 16)},
	{perc + ": random read of 12 KiB in 48 GiB, depth 64", march, 1800, 2200, "/s", iops(percSpec, 64, 0, 10000, timing.Read, file48, 24)},
	{perc + ": the same, 8 KiB, depth 1", march, 5.9, 7.5, "ms", latency(percSpec, 3000, timing.Read, file48, 16)},
	{perc + ": cached write of 8 KiB", march, 0.54, 0.61, "ms", latency(percSpec, 3000, timing.Write, file48, 16)},
	{perc + ": burst of random writes of 8 KiB, depth 32", march, 14000, 16000, "/s", iops(percSpec, 32, 0, 30000, timing.Write, file48, 16)},
	{perc + ": sustained, cache full", march, 1400, 1800, "/s", iops(percSpec, 32, 75000, 10000, timing.Write, file48, 16)},
	{"H710, 2 SSDs, RAID 0: random read of 4 KiB, depth 64", "nominal", 62000, 68000, "/s", iops(h710Spec, 64, 0, 30000, timing.Read, file48, 8)},
	{"H710, 2 SSDs, RAID 0: random write of 4 KiB, depth 64", "nominal", 38000, 42000, "/s", iops(h710Spec, 64, 0, 30000, timing.Write, file48, 8)},
	{"usb-25: sequential write in requests of 120 KiB", "linux-fsdevel, October 2012", 24.5, 25.5, "MB/s",
		rate(Spec{Profile: "usb-25"}, 1, 4000, timing.Write, 240)},
	{"usb-25: the same in requests of 1 MiB", "linux-fsdevel, October 2012", 24.5, 26, "MB/s",
		rate(Spec{Profile: "usb-25"}, 1, 1000, timing.Write, 2048)},
	{"ssd-sata: random read of 4 KiB, depth 1", "840 EVO data sheet", 9500, 10500, "/s", iops(Spec{Profile: "ssd-sata"}, 1, 0, 5000, timing.Read, file48, 8)},
	{"ssd-sata: random read of 4 KiB, depth 31", "840 EVO data sheet", 92000, 100000, "/s", iops(Spec{Profile: "ssd-sata"}, 31, 0, 50000, timing.Read, file48, 8)},
	{"ssd-sata: random write of 4 KiB, depth 31", "840 EVO data sheet", 63000, 69000, "/s", iops(Spec{Profile: "ssd-sata"}, 31, 0, 50000, timing.Write, file48, 8)},
	{"ssd-sata: sequential read", "840 EVO data sheet", 530, 545, "MB/s", rate(Spec{Profile: "ssd-sata"}, 4, 10000, timing.Read, 256)},
	{"ssd-sata: sequential write, the first 2 GB", "840 EVO data sheet", 510, 545, "MB/s", rate(Spec{Profile: "ssd-sata"}, 4, 16000, timing.Write, 256)},
}

// digits writes a number with four digits.
func digits(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// The figures of the machines that mails speak of, by the models alone; the
// table of calibration.md is this one.
func TestCalibration(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What the models make of published figures\n\n")
	b.WriteString("Computed in virtual time, without a guest; kept true by TestCalibration\n(`go test ./pipeline/drive -run Calibration -update` writes it).\n\n")
	b.WriteString("| figure | published in | target | model |\n|---|---|---|---|\n")
	for _, x := range targets {
		got := x.model(t)
		within(t, x.what+" in "+x.unit, got, x.low, x.high)
		fmt.Fprintf(&b, "| %s | %s | %s to %s %s | %s %s |\n", x.what, x.from, digits(x.low), digits(x.high), x.unit, digits(got), x.unit)
	}
	b.WriteString("\nDepth 1 on the PERC 6/E was published as about 7 ms, in a test that also wrote.\nThe model alone, without writes beside, is below that: half a revolution, a seek\nwithin 4 GB of each disk and the controller are all that there is.\n")
	if *update {
		if err := os.WriteFile("calibration.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("calibration.md")
	if err != nil || string(want) != b.String() {
		t.Errorf("calibration.md is not what the models give now (%v); run with -update:\n%s", err, b.String())
	}
}

// A 7200 rpm disk does 78 random reads of 4 KiB a second, 12.7 ms each; command
// queueing gives about 2.2 times as many.
func TestSATA7200Random(t *testing.T) {
	one := Spec{Profile: "sata-7200", QueueDepth: 1}
	size := int64(500e9)
	mean, iops := closedLoop(t, one, 1, 0, 10000, randomly(timing.Read, size, 8, false))
	t.Logf("QD1 %v %.1f IOPS; expected %v", mean, iops, one.RandomReadMean4K())
	within(t, "IOPS at depth 1", iops, 76, 81)
	within(t, "mean in ms", mean.Seconds()*1e3, 12.4, 13.0)

	_, deep := closedLoop(t, Spec{Profile: "sata-7200"}, 31, 0, 10000, randomly(timing.Read, size, 8, false))
	t.Logf("QD31 %.1f IOPS", deep)
	within(t, "depth 31 over depth 1", deep/iops, 2.0, 2.5)
}

// The averages of the data sheets, over all pairs of tracks.
func TestAverageSeek(t *testing.T) {
	for name, want := range map[string][2]float64{ // read, write in ms
		"sata-7200": {8.5, 9.5}, "sata-5400": {12, 14}, "nlsas-2t": {8.5, 9.5}, "usb-25": {12, 14},
	} {
		p, err := lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, write := range []bool{false, true} {
			got := p.Disk.Seek.Average(write).Seconds() * 1e3
			within(t, fmt.Sprintf("%s: average seek (write %v) in ms", name, write), got, want[i]*0.99, want[i]*1.01)
		}
	}
}

// By arithmetic and by simulation a random read takes the same, on every kind of
// drive.
func TestRandomReadExpectation(t *testing.T) {
	for _, s := range []Spec{
		{Profile: "sata-7200", QueueDepth: 1}, {Profile: "sata-5400"}, {Profile: "nlsas-2t"}, {Profile: "usb-25"},
		{Profile: "ssd-sata"}, {Profile: "nvme"}, percSpec, h710Spec,
		{Profile: "sata-7200", Size: 20 * unit.GiB},
	} {
		d, err := s.Device()
		if err != nil {
			t.Fatal(err)
		}
		mean, _ := closedLoop(t, s, 1, 0, 6000, randomly(timing.Read, int64(d.Size), 8, false))
		within(t, fmt.Sprintf("%s: mean over expectation", s.Describe()), float64(mean)/float64(s.RandomReadMean4K()), 0.98, 1.02)
	}
}

func unitRate(v float64) unit.Rate { return unit.Rate(v) }
