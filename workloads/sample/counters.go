package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Disk is the drive's line of /proc/diskstats (Documentation/ABI/testing/procfs-diskstats).
// A sector is 512 bytes whatever the drive's is.
type Disk struct {
	Stamp
	Reads          uint64 `json:"reads"` // completed
	ReadMerges     uint64 `json:"read_merges"`
	ReadSectors    uint64 `json:"read_sectors"`
	ReadMS         uint64 `json:"read_ms"` // milliseconds, summed over requests
	Writes         uint64 `json:"writes"`
	WriteMerges    uint64 `json:"write_merges"`
	WriteSectors   uint64 `json:"write_sectors"`
	WriteMS        uint64 `json:"write_ms"`
	InFlight       uint64 `json:"in_flight"` // now
	BusyMS         uint64 `json:"busy_ms"`   // with at least one request in flight
	QueueMS        uint64 `json:"queue_ms"`  // in flight, summed over requests
	Discards       uint64 `json:"discards"`
	DiscardMerges  uint64 `json:"discard_merges"`
	DiscardSectors uint64 `json:"discard_sectors"`
	DiscardMS      uint64 `json:"discard_ms"`
	Flushes        uint64 `json:"flushes"`
	FlushMS        uint64 `json:"flush_ms"`
}

func (s *Sampler) disk(stamp Stamp) (Disk, error) {
	all, err := s.disks.ProcDiskstats()
	if err != nil {
		return Disk{}, err
	}
	for _, d := range all {
		if d.DeviceName == s.cfg.Drive {
			return Disk{
				stamp,
				d.ReadIOs, d.ReadMerges, d.ReadSectors, d.ReadTicks,
				d.WriteIOs, d.WriteMerges, d.WriteSectors, d.WriteTicks,
				d.IOsInProgress, d.IOsTotalTicks, d.WeightedIOTicks,
				d.DiscardIOs, d.DiscardMerges, d.DiscardSectors, d.DiscardTicks,
				d.FlushRequestsCompleted, d.TimeSpentFlushing,
			}, nil
		}
	}
	return Disk{}, fmt.Errorf("read %s/diskstats: no %s", s.cfg.Proc, s.cfg.Drive)
}

// VM is what /proc/vmstat says of dirty pages, in pages, and what writeback
// thinks of the drive.
type VM struct {
	Stamp
	Dirty               uint64 `json:"nr_dirty"`
	Writeback           uint64 `json:"nr_writeback"`
	Dirtied             uint64 `json:"nr_dirtied"` // since boot
	Written             uint64 `json:"nr_written"` // since boot
	DirtyThreshold      uint64 `json:"nr_dirty_threshold"`
	BackgroundThreshold uint64 `json:"nr_dirty_background_threshold"`
	// BDI is the backing device's file stats in debugfs (mm/backing-dev.c): kB,
	// kB/s for BdiWriteBandwidth, counts for the lists. Nil where there is none.
	BDI map[string]int64 `json:"bdi,omitempty"`
	// Memory is /proc/meminfo, in KiB: what is free and what the caches have.
	Memory map[string]int64 `json:"meminfo,omitempty"`
}

// memoryFields are what is kept of /proc/meminfo.
var memoryFields = map[string]bool{
	"MemFree": true, "MemAvailable": true, "Buffers": true, "Cached": true, "Dirty": true, "Writeback": true, "Slab": true,
}

// parseMeminfo reads "Name:  number kB" lines.
func parseMeminfo(text string) map[string]int64 {
	out := make(map[string]int64)
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		if f := strings.Fields(rest); memoryFields[name] && len(f) > 0 {
			if n, err := strconv.ParseInt(f[0], 10, 64); err == nil {
				out[name] = n
			}
		}
	}
	return out
}

func (s *Sampler) vm(stamp Stamp) (VM, error) {
	data, err := os.ReadFile(filepath.Join(s.cfg.Proc, "vmstat"))
	if err != nil {
		return VM{}, err
	}
	v := VM{Stamp: stamp}
	if err := v.parse(string(data)); err != nil {
		return VM{}, err
	}
	if s.cfg.BDI != "" {
		if data, err := os.ReadFile(filepath.Join(s.cfg.Debug, "bdi", s.cfg.BDI, "stats")); err == nil {
			v.BDI = parseBDI(string(data))
		}
	}
	if data, err := os.ReadFile(filepath.Join(s.cfg.Proc, "meminfo")); err == nil {
		v.Memory = parseMeminfo(string(data))
	}
	return v, nil
}

// parse reads "name value" lines.
func (v *VM) parse(text string) error {
	fields := map[string]*uint64{
		"nr_dirty":                      &v.Dirty,
		"nr_writeback":                  &v.Writeback,
		"nr_dirtied":                    &v.Dirtied,
		"nr_written":                    &v.Written,
		"nr_dirty_threshold":            &v.DirtyThreshold,
		"nr_dirty_background_threshold": &v.BackgroundThreshold,
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		to, ok := fields[name]
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return fmt.Errorf("read vmstat: %s: %w", name, err)
		}
		*to = n
		delete(fields, name)
	}
	if len(fields) > 0 {
		return fmt.Errorf("read vmstat: %d fields are missing", len(fields))
	}
	return nil
}

// parseBDI reads "Name: number [unit]" lines and leaves out what is no number
// in decimal, such as state.
func parseBDI(text string) map[string]int64 {
	out := make(map[string]int64)
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":")
		f := strings.Fields(rest)
		if !ok || len(f) == 0 || strings.TrimSpace(name) == "state" {
			continue
		}
		if n, err := strconv.ParseInt(f[0], 10, 64); err == nil {
			out[strings.TrimSpace(name)] = n
		}
	}
	return out
}

// CPU is the sum over all CPUs of /proc/stat, in seconds since boot, and the
// time that tasks were held up by I/O.
type CPU struct {
	Stamp
	User    float64 `json:"user"`
	Nice    float64 `json:"nice"`
	System  float64 `json:"system"`
	Idle    float64 `json:"idle"`
	IOWait  float64 `json:"iowait"`
	IRQ     float64 `json:"irq"`
	SoftIRQ float64 `json:"softirq"`
	Steal   float64 `json:"steal"`
	Blocked uint64  `json:"procs_blocked"` // tasks waiting for I/O now
	// Pressure is /proc/pressure/io, in microseconds since boot in which some
	// task, or all of them, waited (Documentation/accounting/psi.rst).
	SomePressure uint64 `json:"pressure_io_some_us,omitempty"`
	FullPressure uint64 `json:"pressure_io_full_us,omitempty"`
	// The same of memory and of CPU time.
	SomeMemory uint64 `json:"pressure_memory_some_us,omitempty"`
	SomeCPU    uint64 `json:"pressure_cpu_some_us,omitempty"`
}

func (s *Sampler) cpu(stamp Stamp) (CPU, procfs.CPUStat, error) {
	st, err := s.fs.Stat()
	if err != nil {
		return CPU{}, procfs.CPUStat{}, err
	}
	t := st.CPUTotal
	c := CPU{
		Stamp: stamp,
		User:  t.User, Nice: t.Nice, System: t.System, Idle: t.Idle, IOWait: t.Iowait,
		IRQ: t.IRQ, SoftIRQ: t.SoftIRQ, Steal: t.Steal,
		Blocked: st.ProcessesBlocked,
	}
	// Debian has it switched off unless booted with psi=1.
	if p, err := s.fs.PSIStatsForResource("io"); err == nil {
		if p.Some != nil {
			c.SomePressure = p.Some.Total
		}
		if p.Full != nil {
			c.FullPressure = p.Full.Total
		}
	}
	for resource, to := range map[string]*uint64{"memory": &c.SomeMemory, "cpu": &c.SomeCPU} {
		if p, err := s.fs.PSIStatsForResource(resource); err == nil && p.Some != nil {
			*to = p.Some.Total
		}
	}
	return c, t, nil
}
