package reports

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"spindle/reports/internal/plots"
	"spindle/reports/record"
)

const (
	sectorBytes = 512  // of /proc/diskstats, whatever the drive's is
	pageBytes   = 4096 // of /proc/vmstat: guests are x86-64
	countersMax = 64 << 20
)

// counters is what a sample's samplers saw, as rates and amounts over time.
type counters struct {
	written, read plots.Series // MB/s
	dirty         plots.Series // MiB, under writeback included
}

// readCounters reads a sample's counter files; one that is not there leaves
// its series empty.
func readCounters(dir string, arm int) (counters, error) {
	c := counters{written: plots.Series{Arm: arm}, read: plots.Series{Arm: arm}, dirty: plots.Series{Arm: arm}}
	err := errors.Join(
		eachLine(filepath.Join(dir, record.Diskstats), c.diskstats),
		eachLine(filepath.Join(dir, record.Vmstat), c.vmstat),
	)
	return c, err
}

// eachLine opens a file of JSON lines for a reader.
func eachLine(path string, read func(io.Reader) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := read(io.LimitReader(f, countersMax)); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// lines calls f for every JSON line of type T. A guest that dies in the middle
// of a line leaves half of one at the end: reading stops there.
func lines[T any](r io.Reader, f func(T)) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var v T
		if json.Unmarshal(s.Bytes(), &v) != nil {
			return nil
		}
		f(v)
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return nil
	}
	return s.Err()
}

// disk is what is used of a line of diskstats.jsonl: counts since boot.
type disk struct {
	T            float64 `json:"t"` // seconds
	ReadSectors  uint64  `json:"read_sectors"`
	WriteSectors uint64  `json:"write_sectors"`
}

// diskstats turns counts into rates. A count that falls (it wrapped, or the
// line is damaged) and time that stands still give no point.
func (c *counters) diskstats(r io.Reader) error {
	var last disk
	first := true
	return lines(r, func(d disk) {
		dt := d.T - last.T
		if !first && dt > 0 && d.WriteSectors >= last.WriteSectors && d.ReadSectors >= last.ReadSectors {
			rate := func(sectors uint64) float64 { return float64(sectors) * sectorBytes / 1e6 / dt }
			middle := last.T + dt/2
			add(&c.written, middle, rate(d.WriteSectors-last.WriteSectors))
			add(&c.read, middle, rate(d.ReadSectors-last.ReadSectors))
		}
		last, first = d, false
	})
}

// vmstat takes the pages that are dirty or on their way to the drive.
func (c *counters) vmstat(r io.Reader) error {
	return lines(r, func(v struct {
		T         float64 `json:"t"`
		Dirty     uint64  `json:"nr_dirty"`
		Writeback uint64  `json:"nr_writeback"`
	}) {
		add(&c.dirty, v.T, (float64(v.Dirty)+float64(v.Writeback))*pageBytes/(1<<20))
	})
}

// add appends a point that is later than the last one.
func add(s *plots.Series, x, y float64) {
	if n := len(s.X); x < 0 || n > 0 && x <= s.X[n-1] {
		return
	}
	s.X, s.Y = append(s.X, x), append(s.Y, y)
}
