package disk

import (
	"errors"
	"fmt"
	"math"
	"time"

	"spindle/internal/unit"
)

// Seek is how long the arm takes to move.
type Seek struct {
	Tracks int64         `yaml:"tracks"` // per surface: what the curves count in
	Read   Curve         `yaml:"read"`
	Write  Curve         `yaml:"write,omitempty"`  // longer, because a write settles better
	Settle unit.Duration `yaml:"settle,omitempty"` // instead of Write: what a write takes beyond the read's seek
	Jitter unit.Duration `yaml:"jitter"`           // each seek varies by up to this, both ways
}

// Curve is seek time over distance in one of two forms.
//
// In two pieces it is A + B·√d up to the knee, where the arm accelerates half
// the way and brakes the other half, and C + E·d above it, where it coasts at
// full speed. The coefficients are milliseconds, d is in tracks. (Ruemmler and
// Wilkes 1994, table 2 and figure 4.)
//
// From three points of a data sheet, the times to the next track, on average
// over all pairs of tracks, and from the first track to the last, it is
// a·√(d-1) + b·(d-1) + TrackToTrack, with a and b such that it meets them.
// (Lee and Katz, An analytic performance model of disk arrays, SIGMETRICS
// 1993.)
type Curve struct {
	A    float64 `yaml:"a-ms,omitempty"`
	B    float64 `yaml:"b-ms,omitempty"`
	C    float64 `yaml:"c-ms,omitempty"`
	E    float64 `yaml:"e-ms,omitempty"`
	Knee float64 `yaml:"knee,omitempty"`

	TrackToTrack unit.Duration `yaml:"track-to-track,omitempty"`
	Average      unit.Duration `yaml:"average,omitempty"`
	FullStroke   unit.Duration `yaml:"full-stroke,omitempty"`
}

// motion is a curve worked out for a number of tracks; times are nanoseconds.
// Up to the knee a seek of d takes a + root·√(d-from) + slope·(d-from), above
// it c + e·d. Each takes more on top.
type motion struct {
	a, root, slope, from float64
	knee, c, e           float64
	more                 float64
}

// time gives the seek time in nanoseconds; 0 for no distance.
func (m motion) time(d float64) float64 {
	switch {
	case d <= 0:
		return 0
	case d <= m.knee:
		d = max(d-m.from, 0)
		return m.a + m.root*math.Sqrt(d) + m.slope*d + m.more
	}
	return m.c + m.e*d + m.more
}

// over works c out for a disk with that many tracks.
func (c Curve) over(tracks int64) motion {
	const ms = float64(time.Millisecond)
	if c.Average == 0 {
		return motion{a: c.A * ms, root: c.B * ms, knee: c.Knee, c: c.C * ms, e: c.E * ms}
	}
	n := float64(tracks)
	low, mean, high := float64(c.TrackToTrack), float64(c.Average), float64(c.FullStroke)
	return motion{
		a: low, root: (15*mean - 10*low - 5*high) / (3 * math.Sqrt(n)), slope: (7*low - 15*mean + 8*high) / (3 * n),
		from: 1, knee: math.Inf(1),
	}
}

// motions gives the curves of reads and writes.
func (s Seek) motions() (read, write motion) {
	read = s.Read.over(s.Tracks)
	if s.Write != (Curve{}) {
		return read, s.Write.over(s.Tracks)
	}
	write = read
	write.more = float64(s.Settle)
	return read, write
}

// Average is the mean of a seek over all ordered pairs of tracks, the figure
// that data sheets give.
func (s Seek) Average(write bool) time.Duration {
	m, w := s.motions()
	if write {
		m = w
	}
	n := float64(s.Tracks)
	sum := 0.0
	for d := 1.0; d < n; d++ {
		sum += 2 * (n - d) * m.time(d)
	}
	return time.Duration(sum / n / n)
}

// validate checks that both curves make sense over the disk's tracks.
func (s Seek) validate() error {
	if s.Tracks < 1 || s.Tracks > maxTracks {
		return fmt.Errorf("seek.tracks %d: not between 1 and %d", s.Tracks, maxTracks)
	}
	if err := s.Read.validate(s.Tracks); err != nil {
		return fmt.Errorf("seek.read: %w", err)
	}
	if s.Write == (Curve{}) {
		if s.Settle > unit.Duration(time.Second) {
			return fmt.Errorf("seek.settle %s: more than a second", s.Settle)
		}
		return nil
	}
	if s.Settle != 0 {
		return fmt.Errorf("seek.settle %s: there is a write curve too; take one out", s.Settle)
	}
	if err := s.Write.validate(s.Tracks); err != nil {
		return fmt.Errorf("seek.write: %w", err)
	}
	return nil
}

// validate checks that the curve rises, without a jump of more than a tenth at
// the knee, over a disk with that many tracks.
func (c Curve) validate(tracks int64) error {
	sheet := c.TrackToTrack != 0 || c.Average != 0 || c.FullStroke != 0
	for _, v := range []float64{c.A, c.B, c.C, c.E, c.Knee} {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("coefficients must not be negative")
		}
		if sheet && v != 0 {
			return errors.New("has coefficients and three points; take one of them out")
		}
	}
	m := c.over(tracks)
	if sheet {
		if c.TrackToTrack <= 0 || c.Average < c.TrackToTrack || c.FullStroke < c.Average {
			return fmt.Errorf("track-to-track %s, average %s, full-stroke %s: must be there and rise", c.TrackToTrack, c.Average, c.FullStroke)
		}
		// The curve rises throughout if it does at both ends.
		if m.root < 0 || m.root/2/math.Sqrt(float64(tracks))+m.slope < 0 {
			return fmt.Errorf("track-to-track %s, average %s, full-stroke %s: no curve through these rises throughout", c.TrackToTrack, c.Average, c.FullStroke)
		}
	}
	if m.time(1) <= 0 {
		return errors.New("a seek of one track takes no time")
	}
	if c.Knee > 0 && c.Knee < float64(tracks) {
		below, above := c.A+c.B*math.Sqrt(c.Knee), c.C+c.E*c.Knee
		if math.Abs(below-above) > below/10 {
			return fmt.Errorf("the pieces differ at the knee: %.3g ms below, %.3g ms above", below, above)
		}
	}
	if t := m.time(float64(tracks)); t > float64(time.Second) {
		return fmt.Errorf("the full stroke takes %v", time.Duration(t))
	}
	return nil
}
