package pipeline

import (
	"fmt"
	"time"

	"spindle/pipeline/drive"
)

// bank is the emulated drives of one guest: one, or the members of an md array.
// A disk of the host is none, and then all of this does nothing.
type bank []*drive.Drive

// Timed turns the drives' timing on or off.
func (b bank) Timed(on bool) {
	for _, d := range b {
		d.Timed(on)
	}
}

// Gauge has the drives take the same time over every read.
func (b bank) Gauge(service time.Duration) {
	for _, d := range b {
		d.Gauge(service)
	}
}

func (b bank) ResetStats() {
	for _, d := range b {
		d.ResetStats()
	}
}

// Err gives the first failure of a drive's own.
func (b bank) Err() error {
	return b.first((*drive.Drive).Err)
}

// Late says whether a drive kept its time.
func (b bank) Late() error {
	return b.first((*drive.Drive).Late)
}

func (b bank) first(f func(*drive.Drive) error) error {
	for _, d := range b {
		if err := f(d); err != nil {
			return err
		}
	}
	return nil
}

// Stats sums up what the drives did. Lateness and depth are those of the worst.
func (b bank) Stats() (all drive.Stats) {
	var service, late time.Duration
	for _, d := range b {
		s := d.Stats()
		all.Reads += s.Reads
		all.Writes += s.Writes
		all.Flushes += s.Flushes
		all.Trims += s.Trims
		all.Zeroes += s.Zeroes
		all.ReadBytes += s.ReadBytes
		all.WriteBytes += s.WriteBytes
		all.MaxDepth = max(all.MaxDepth, s.MaxDepth)
		all.Timed += s.Timed
		service += s.MeanService * time.Duration(s.Timed)
		l := &all.Lateness
		l.Count += s.Lateness.Count
		late += s.Lateness.Mean * time.Duration(s.Lateness.Count)
		l.P50, l.P99, l.Max = max(l.P50, s.Lateness.P50), max(l.P99, s.Lateness.P99), max(l.Max, s.Lateness.Max)
	}
	if all.Timed > 0 {
		all.MeanService = service / time.Duration(all.Timed)
	}
	if n := all.Lateness.Count; n > 0 {
		all.Lateness.Mean = late / time.Duration(n)
	}
	return all
}

// Faults tells what the drives' planned faults did, a line each.
func (b bank) Faults() []string {
	var out []string
	for i, d := range b {
		for _, f := range d.Faults() {
			text := f.Fault.String()
			if len(b) > 1 {
				text = fmt.Sprintf("disk %d: %s", i, text)
			}
			if f.Count == 0 {
				text += "; it hit nothing"
			} else {
				text += fmt.Sprintf("; %d requests, the first after %v", f.Count, f.First.Round(time.Millisecond))
			}
			out = append(out, text)
		}
	}
	return out
}
