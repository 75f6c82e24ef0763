package host

import (
	"context"
	"time"

	"github.com/prometheus/procfs"
)

// Noise is what else the host does. Shares are from 0 to 1.
type Noise struct {
	Load1 float64 `json:"load1"` // mean number of runnable and blocked tasks over a minute
	Steal float64 `json:"steal"` // share of CPU time that a hypervisor gave to others

	// Pressure tells whether the kernel keeps pressure figures (CONFIG_PSI).
	// They are the share of the last 10 s in which some task waited.
	Pressure       bool    `json:"pressure"`
	PressureCPU    float64 `json:"pressure_cpu"`
	PressureIO     float64 `json:"pressure_io"`
	PressureMemory float64 `json:"pressure_memory"`
}

func readNoise(ctx context.Context, fs procfs.FS, watch time.Duration) (Noise, error) {
	var before procfs.CPUStat
	if watch > 0 {
		s, err := fs.Stat()
		if err != nil {
			return Noise{}, err
		}
		before = s.CPUTotal
		select {
		case <-ctx.Done():
			return Noise{}, context.Cause(ctx)
		case <-time.After(watch):
		}
	}
	s, err := fs.Stat()
	if err != nil {
		return Noise{}, err
	}
	n := Noise{Steal: stolen(before, s.CPUTotal)}
	load, err := fs.LoadAvg()
	if err != nil {
		return Noise{}, err
	}
	n.Load1 = load.Load1
	n.Pressure = true
	for resource, share := range map[string]*float64{
		"cpu": &n.PressureCPU, "io": &n.PressureIO, "memory": &n.PressureMemory,
	} {
		p, err := fs.PSIStatsForResource(resource)
		if err != nil || p.Some == nil {
			n.Pressure = false // not built in, or psi=0
			continue
		}
		*share = p.Some.Avg10 / 100
	}
	return n, nil
}

// stolen gives the share of CPU time that was stolen between two readings. Guest
// time is part of user time already (proc_stat(5)).
func stolen(before, after procfs.CPUStat) float64 {
	sum := func(c procfs.CPUStat) float64 {
		return c.User + c.Nice + c.System + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal
	}
	total := sum(after) - sum(before)
	if total <= 0 {
		return 0
	}
	return max(0, after.Steal-before.Steal) / total
}
