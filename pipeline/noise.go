package pipeline

import (
	"time"

	"github.com/prometheus/procfs"

	"spindle/reports/record"
)

// noise watches what else the host does while a sample is made. The figures
// are from the host's /proc; what a kernel does not offer stays zero.
type noise struct {
	fs    procfs.FS
	began time.Time
	load  float64
	at    noiseReading
}

// noiseReading is a look at counters that only grow.
type noiseReading struct {
	steal, total    float64 // CPU seconds
	cpu, io, memory float64 // seconds in which some task waited
}

func startNoise() *noise {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return &noise{began: time.Now()}
	}
	return startNoiseOf(fs)
}

func startNoiseOf(fs procfs.FS) *noise {
	n := &noise{fs: fs, began: time.Now()}
	if l, err := fs.LoadAvg(); err == nil {
		n.load = l.Load1
	}
	n.at = n.read()
	return n
}

func (n *noise) read() (r noiseReading) {
	if n.fs == (procfs.FS{}) {
		return r
	}
	if s, err := n.fs.Stat(); err == nil {
		c := s.CPUTotal
		r.steal = c.Steal
		r.total = c.User + c.Nice + c.System + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal
	}
	waited := func(resource string) float64 {
		p, err := n.fs.PSIStatsForResource(resource)
		if err != nil || p.Some == nil {
			return 0
		}
		return (time.Duration(p.Some.Total) * time.Microsecond).Seconds()
	}
	r.cpu, r.io, r.memory = waited("cpu"), waited("io"), waited("memory")
	return r
}

// stop gives the noise since start. The pressures include what the guest
// itself caused on the host.
func (n *noise) stop() record.HostNoise {
	now, wall := n.read(), time.Since(n.began).Seconds()
	share := func(part, whole float64) float64 {
		if whole <= 0 {
			return 0
		}
		return min(1, max(0, part/whole))
	}
	return record.HostNoise{
		Load1:          n.load,
		Steal:          share(now.steal-n.at.steal, now.total-n.at.total),
		PressureCPU:    share(now.cpu-n.at.cpu, wall),
		PressureIO:     share(now.io-n.at.io, wall),
		PressureMemory: share(now.memory-n.at.memory, wall),
	}
}
