package workloads

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"spindle/reports/record"
	"spindle/workloads/burst"
	"spindle/workloads/fiemap"
	"spindle/workloads/iostat"
	"spindle/workloads/sample"
)

// Files that are made of the counters and of the programs' reports when the timed
// part is over.
const (
	StallsFile  = record.Stalls  // Stalled, one a line, in the order of their start for each workload
	ExtentsFile = record.Extents // fiemap.Layout of the workload's files
	IostatFile  = "iostat.txt"   // iostat -cxm of sysstat 10.2, each iostatEvery
	IostatLines = "iostat.jsonl" // the same and iostat's columns of today
	BurstsFile  = record.Bursts  // burst.Found by series: writes a second, reads' latency
)

// iostatEvery is the period at which the mails show iostat.
const iostatEvery = 5 * time.Second

// keepBeside writes what goes along with the timed part, once the drive is quick
// again: starts and stops, stalls, iostat's view, bursts, the trace.
func (r *run) keepBeside() error {
	disks, err := readLines[sample.Disk](r.out(sample.DiskstatsFile))
	if err != nil {
		return err
	}
	vms, err := readLines[sample.VM](r.out(sample.VmstatFile))
	if err != nil {
		return err
	}
	cpus, err := readLines[sample.CPU](r.out(sample.StatFile))
	if err != nil {
		return err
	}
	r.explainStalls(disks, vms, r.flights)
	return errors.Join(
		r.keepEvents(),
		writeLines(r.out(StallsFile), r.shared.stalls),
		r.keepIostat(disks, cpus),
		r.keepBursts(disks),
		r.keepExtents(),
		r.keepTrace(),
	)
}

// explainStalls adds to each stall what the counters showed meanwhile. A stall
// between two samples is told by none.
func (r *run) explainStalls(disks []sample.Disk, vms []sample.VM, flights []sample.Flight) {
	for i := range r.shared.stalls {
		s := &r.shared.stalls[i]
		within := func(at int64) bool { return at >= s.Start && at <= s.End() }
		for _, d := range disks {
			if within(d.Monotonic) {
				s.InFlight = most(s.InFlight, d.InFlight)
			}
		}
		from, _ := slices.BinarySearchFunc(flights, s.Start, func(f sample.Flight, at int64) int { return cmp.Compare(f.Monotonic, at) })
		for _, f := range flights[from:] {
			if !within(f.Monotonic) {
				break
			}
			s.InFlight = most(s.InFlight, f.Reads+f.Writes)
		}
		for _, v := range vms {
			if within(v.Monotonic) {
				s.Writeback = most(s.Writeback, v.Writeback)
			}
		}
	}
}

func most(a *uint64, b uint64) *uint64 {
	if a == nil || b > *a {
		return &b
	}
	return a
}

func (r *run) keepIostat(disks []sample.Disk, cpus []sample.CPU) error {
	series := iostat.Series(disks, cpus, iostatEvery)
	f, err := os.Create(r.out(IostatFile))
	if err != nil {
		return err
	}
	err = errors.Join(iostat.Write(f, r.drive.Name, series), f.Close())
	return errors.Join(err, writeLines(r.out(IostatLines), series))
}

// keepBursts looks for write storms at the sampler's own period. A last interval
// that is cut short would be a burst of nothing.
func (r *run) keepBursts(disks []sample.Disk) error {
	every := r.job.SampleEvery.Std()
	if every == 0 {
		every = time.Second
	}
	var writes, await []float64
	for _, i := range iostat.Series(disks, nil, every) {
		if i.Seconds < every.Seconds()/2 {
			continue
		}
		writes, await = append(writes, i.Writes), append(await, i.ReadAwait)
	}
	text, err := json.MarshalIndent(map[string]burst.Found{
		"w/s": burst.Find(writes, every.Seconds()), "r_await": burst.Find(await, every.Seconds()),
	}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(r.out(BurstsFile), append(text, '\n'), 0o600)
}

// mostFiles is how many files are looked at for their extents: a system call or
// two each.
const mostFiles = 20_000

// keepExtents writes in how many pieces the files of the workload, and of those
// beside it, lie on the drive. The files are written back for that. It is told of
// a workload that failed, too, but not of a file system that does.
func (r *run) keepExtents() error {
	if !r.mounted {
		return nil
	}
	var l fiemap.Layout
	err := r.within("looking for extents", func() (err error) {
		l, err = fiemap.Tree(r.dir, mostFiles)
		return err
	})
	if err != nil {
		r.warn("extents were not counted: %v", err)
		return nil
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return os.WriteFile(r.out(ExtentsFile), append(text, '\n'), 0o600)
}

// readLines reads a file of JSON lines up to the first that is none; a file that
// is not there has none.
func readLines[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []T
	for d := json.NewDecoder(f); ; {
		var v T
		if d.Decode(&v) != nil {
			return all, nil
		}
		all = append(all, v)
	}
}

func writeLines[T any](path string, all []T) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	e := json.NewEncoder(f)
	for _, v := range all {
		if err := e.Encode(v); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}
