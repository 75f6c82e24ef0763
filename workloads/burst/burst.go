// Package burst finds bursts that come again and again in a series, such as the
// write storms of a checkpointer's fsync: how far apart they are and how high.
//
// A burst is a run of samples above the half between the series' median and its
// highest; bursts nearer than a quarter of the usual distance are one. They are
// periodic if the distances between their beginnings differ by little.
//
// It promises nothing of a series with less than three bursts: two make a
// distance, but no period.
package burst

import (
	"math"
	"slices"
)

// Found is what was found in a series.
type Found struct {
	Bursts    int     `json:"bursts"`
	Period    float64 `json:"period_seconds"` // median distance of their beginnings; 0 of less than three
	Spread    float64 `json:"spread"`         // median deviation of the distances from Period, as a share of it
	Base      float64 `json:"base"`           // median of the series
	Amplitude float64 `json:"amplitude"`      // mean of the bursts' highest samples, above Base
	Highest   float64 `json:"highest"`
	Seconds   float64 `json:"burst_seconds"` // mean length of a burst
}

// Periodic says whether the bursts come at nearly equal distances.
func (f Found) Periodic() bool { return f.Bursts >= 3 && f.Spread <= 0.2 }

// least is how far the highest sample must be above the median, as a share of it,
// for anything to be a burst at all. A series that is at rest has small noise, not
// bursts; one that is busy all the time wavers.
const least = 1.0

// Find looks for bursts in a series of samples that are step seconds apart.
func Find(series []float64, step float64) Found {
	if len(series) < 3 || !(step > 0) {
		return Found{}
	}
	f := Found{Base: median(series), Highest: slices.Max(series)}
	if f.Highest <= 0 || f.Highest-f.Base < least*math.Abs(f.Base) {
		return f
	}
	over := f.Base + (f.Highest-f.Base)/2
	type run struct {
		from, to int // samples; to is behind the last
		peak     float64
	}
	var runs []run
	for i, v := range series {
		if v < over {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].to == i {
			runs[n-1].to++
			runs[n-1].peak = max(runs[n-1].peak, v)
			continue
		}
		runs = append(runs, run{i, i + 1, v})
	}
	// A storm that pauses for a moment is one.
	if len(runs) > 2 {
		var gaps []float64
		for i := 1; i < len(runs); i++ {
			gaps = append(gaps, float64(runs[i].from-runs[i-1].from))
		}
		usual := slices.Max(gaps)
		merged := runs[:1]
		for _, r := range runs[1:] {
			last := &merged[len(merged)-1]
			if float64(r.from-last.to) < usual/4 {
				last.to, last.peak = r.to, max(last.peak, r.peak)
				continue
			}
			merged = append(merged, r)
		}
		runs = merged
	}
	f.Bursts = len(runs)
	var starts []float64
	for _, r := range runs {
		f.Amplitude += (r.peak - f.Base) / float64(len(runs))
		f.Seconds += float64(r.to-r.from) * step / float64(len(runs))
		starts = append(starts, float64(r.from)*step)
	}
	if len(runs) < 3 {
		return f
	}
	var distances []float64
	for i := 1; i < len(starts); i++ {
		distances = append(distances, starts[i]-starts[i-1])
	}
	f.Period = median(distances)
	for i, d := range distances {
		distances[i] = math.Abs(d-f.Period) / f.Period
	}
	f.Spread = median(distances)
	return f
}

func median(vs []float64) float64 {
	s := slices.Sorted(slices.Values(vs))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
