package check

import "github.com/prometheus/procfs"

// cpuTime gives the CPU time of the host since it booted, and how much of it a
// hypervisor gave to somebody else; both in seconds, 0 where the kernel does not
// tell.
func cpuTime() (all, stolen float64) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, 0
	}
	s, err := fs.Stat()
	if err != nil {
		return 0, 0
	}
	c := s.CPUTotal
	return c.User + c.Nice + c.System + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal, c.Steal
}
