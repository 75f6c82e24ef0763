package disk

import (
	"fmt"
	"math"
	"time"
)

// Curve is seek time over distance in two pieces: A + B·√d up to the knee,
// where the arm accelerates half the way and brakes the other half, and C + E·d
// above it, where it coasts at full speed. All coefficients are milliseconds, d
// is in tracks. (Ruemmler and Wilkes 1994, table 2 and figure 4.)
type Curve struct {
	A    float64 `yaml:"a-ms"`
	B    float64 `yaml:"b-ms"`
	C    float64 `yaml:"c-ms"`
	E    float64 `yaml:"e-ms"`
	Knee float64 `yaml:"knee"`
}

// time gives the seek time in nanoseconds; 0 for no distance.
func (c Curve) time(d float64) float64 {
	switch {
	case d <= 0:
		return 0
	case d <= c.Knee:
		return (c.A + c.B*math.Sqrt(d)) * float64(time.Millisecond)
	}
	return (c.C + c.E*d) * float64(time.Millisecond)
}

// validate checks that the curve rises, without a jump of more than a tenth at
// the knee, over a disk with that many tracks.
func (c Curve) validate(tracks int64) error {
	for _, v := range []float64{c.A, c.B, c.C, c.E, c.Knee} {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("coefficients must not be negative")
		}
	}
	if c.time(1) <= 0 {
		return fmt.Errorf("a seek of one track takes no time")
	}
	if c.Knee > 0 && c.Knee < float64(tracks) {
		below, above := c.A+c.B*math.Sqrt(c.Knee), c.C+c.E*c.Knee
		if math.Abs(below-above) > below/10 {
			return fmt.Errorf("the pieces differ at the knee: %.3g ms below, %.3g ms above", below, above)
		}
	}
	if t := c.time(float64(tracks)); t > float64(time.Second) {
		return fmt.Errorf("the full stroke takes %v", time.Duration(t))
	}
	return nil
}
