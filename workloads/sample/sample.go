// Package sample reads a guest's counters while a workload runs: /proc/diskstats
// of one drive, the dirty and writeback fields of /proc/vmstat, /proc/meminfo,
// /proc/stat and the pressure of I/O, memory and CPU, each second, into files of
// JSON lines.
//
// It promises a sample at the start and one at the end whatever the period, and
// a stamp of CLOCK_MONOTONIC on each, taken just before the counters are read,
// so that lines can be laid beside the kernel's log and rates divided by the
// time that really passed. Counters are kept as the kernel shows them, since
// boot; whoever reads them takes differences (the millisecond fields of diskstats
// wrap at 2^32).
//
// It does not keep the period when the guest has no CPU time to give: a missed
// sample is left out, not made up for. Reading costs about a millisecond of CPU
// a second under emulation.
package sample

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
	"golang.org/x/sys/unix"
)

// The files that a Sampler writes.
const (
	DiskstatsFile = "diskstats.jsonl" // Disk, one a line
	VmstatFile    = "vmstat.jsonl"    // VM
	StatFile      = "stat.jsonl"      // CPU
)

// Stamp is when a sample was taken.
type Stamp struct {
	T         float64 `json:"t"`            // seconds since the sampler started
	Monotonic int64   `json:"monotonic_ns"` // CLOCK_MONOTONIC
}

// Config says what to read and where to write.
type Config struct {
	Proc      string               // /proc
	Debug     string               // /sys/kernel/debug
	Drive     string               // sda
	BDI       string               // name of the backing device in debugfs ("8:0", "btrfs-1"); "" leaves it out
	Dir       string               // for the files
	Every     time.Duration        // 0 is a second
	Monotonic func() time.Duration // nil is CLOCK_MONOTONIC
}

// Sampler is a sampler at work. Stop ends it.
type Sampler struct {
	cfg   Config
	fs    procfs.FS
	disks blockdevice.FS
	start time.Duration
	out   [3]*lines
	stop  chan struct{}
	done  chan struct{}

	first, last procfs.CPUStat
	err         error // the first one; valid after done
}

// Start takes the first sample and goes on in the background.
func Start(cfg Config) (*Sampler, error) {
	if cfg.Every == 0 {
		cfg.Every = time.Second
	}
	if cfg.Monotonic == nil {
		cfg.Monotonic = monotonic
	}
	s := &Sampler{cfg: cfg, stop: make(chan struct{}), done: make(chan struct{})}
	var err error
	if s.fs, err = procfs.NewFS(cfg.Proc); err != nil {
		return nil, fmt.Errorf("start sampler: %w", err)
	}
	if s.disks, err = blockdevice.NewFS(cfg.Proc, filepath.Dir(cfg.Proc)); err != nil {
		return nil, fmt.Errorf("start sampler: %w", err)
	}
	for i, name := range [...]string{DiskstatsFile, VmstatFile, StatFile} {
		if s.out[i], err = create(filepath.Join(cfg.Dir, name)); err != nil {
			s.close()
			return nil, fmt.Errorf("start sampler: %w", err)
		}
	}
	s.start = cfg.Monotonic()
	if err := s.take(true); err != nil {
		s.close()
		return nil, fmt.Errorf("take first sample: %w", err)
	}
	go s.loop()
	return s, nil
}

func monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0 // it cannot fail for this clock
	}
	return time.Duration(ts.Nano())
}

func (s *Sampler) loop() {
	defer close(s.done)
	tick := time.NewTicker(s.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.keep(s.take(false))
		case <-s.stop:
			s.keep(s.take(false))
			return
		}
	}
}

func (s *Sampler) keep(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Stop takes the last sample, closes the files and gives the share of the CPUs
// that was busy from the first sample to the last, 0 to 1. Waiting for I/O is
// idle time. It must be called once.
func (s *Sampler) Stop() (busy float64, err error) {
	close(s.stop)
	<-s.done
	s.keep(s.close())
	if s.err != nil {
		return 0, fmt.Errorf("sample counters: %w", s.err)
	}
	return Busy(s.first, s.last), nil
}

// Busy gives the share of CPU time between two readings of /proc/stat's first
// line that was not idle, 0 to 1. Time that a hypervisor stole counts as busy:
// the guest wanted it. Guest time is part of user time there already.
func Busy(a, b procfs.CPUStat) float64 {
	busy := work(b) - work(a)
	total := busy + max(0, b.Idle-a.Idle) + max(0, b.Iowait-a.Iowait) // iowait may go backwards (proc_stat(5))
	if total <= 0 || busy <= 0 {
		return 0
	}
	return busy / total
}

func work(c procfs.CPUStat) float64 {
	return c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal
}

// take reads all counters once.
func (s *Sampler) take(first bool) error {
	at := s.cfg.Monotonic()
	stamp := Stamp{T: (at - s.start).Seconds(), Monotonic: int64(at)}
	disk, err := s.disk(stamp)
	if err != nil {
		return err
	}
	vm, err := s.vm(stamp)
	if err != nil {
		return err
	}
	cpu, total, err := s.cpu(stamp)
	if err != nil {
		return err
	}
	if first {
		s.first = total
	}
	s.last = total
	return errors.Join(s.out[0].put(disk), s.out[1].put(vm), s.out[2].put(cpu))
}

func (s *Sampler) close() error {
	var errs []error
	for _, o := range s.out {
		if o != nil {
			errs = append(errs, o.close())
		}
	}
	return errors.Join(errs...)
}

// lines is a file of JSON lines.
type lines struct {
	f *os.File
	w *bufio.Writer
}

func create(path string) (*lines, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &lines{f, bufio.NewWriter(f)}, nil
}

// put writes one line at once, so that a guest that dies leaves whole lines to
// whoever can still read them.
func (l *lines) put(v any) error {
	if err := json.NewEncoder(l.w).Encode(v); err != nil {
		return err
	}
	return l.w.Flush()
}

func (l *lines) close() error { return l.f.Close() }
