package iostat

import (
	"fmt"

	"spindle/workloads/sample"
)

// CPU is the line that iostat prints above its drives: percent of all CPUs' time,
// by the keys of its JSON. Interrupts count as system.
type CPU struct {
	User   float64 `json:"user"`
	Nice   float64 `json:"nice"`
	System float64 `json:"system"`
	IOWait float64 `json:"iowait"`
	Steal  float64 `json:"steal"`
	Idle   float64 `json:"idle"`
}

// CPUHeader is the line above it.
const CPUHeader = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle"

// BetweenCPU gives the shares of the time between two readings. Counters that go
// backwards, as iowait may (proc_stat(5)), have not moved.
func BetweenCPU(a, b sample.CPU) CPU {
	d := func(a, b float64) float64 { return max(0, b-a) }
	c := CPU{
		User: d(a.User, b.User), Nice: d(a.Nice, b.Nice),
		System: d(a.System, b.System) + d(a.IRQ, b.IRQ) + d(a.SoftIRQ, b.SoftIRQ),
		IOWait: d(a.IOWait, b.IOWait), Steal: d(a.Steal, b.Steal), Idle: d(a.Idle, b.Idle),
	}
	total := c.User + c.Nice + c.System + c.IOWait + c.Steal + c.Idle
	for _, v := range []*float64{&c.User, &c.Nice, &c.System, &c.IOWait, &c.Steal, &c.Idle} {
		*v = 100 * per(*v, total)
	}
	return c
}

// String gives the line as sysstat prints it.
func (c CPU) String() string {
	return fmt.Sprintf("        %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f", c.User, c.Nice, c.System, c.IOWait, c.Steal, c.Idle)
}
