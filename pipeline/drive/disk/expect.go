package disk

import (
	"math"
	"time"

	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

// SequentialRate is what a long sequential transfer gets in the outermost zone:
// a track of data per revolution and skew.
func (p Profile) SequentialRate() unit.Rate {
	bytes := float64(p.sectorsPerTrack(p.OuterRate)) * timing.SectorSize
	return unit.Rate(bytes * float64(time.Second) / (p.revolution() + p.meanSkew()))
}

// RandomRead is the mean time of one read of length bytes at a random sector of
// the first size bytes, one request at a time, when none is in the cache. It is
// a sum over all pairs of cylinders, not a simulation. Within a single cylinder it
// is too pessimistic.
func (p Profile) RandomRead(size, length unit.Size) time.Duration {
	g := newGeometry(p)
	seeks := newSeekSums(p, g.cylinders)
	bands := g.bands(int64(size) / timing.SectorSize)
	n := float64(length) / timing.SectorSize

	var mean float64
	for _, a := range bands {
		for _, b := range bands {
			mean += a.weight * b.weight * seeks.between(a, b)
		}
		// On the way over n sectors a track ends with probability (n-1)/spt.
		spt := float64(a.spt)
		mean += a.share() * (n/spt*g.rev + (n-1)/spt*p.meanSkew())
		// In the same cylinder all but one of the heads take a switch.
		mean += a.weight * a.weight * float64(a.cyls) * p.same()
	}
	return time.Duration(math.Round(mean + float64(p.Overhead) + g.rev/2))
}

// same is the mean time to a random head of the same cylinder.
func (p Profile) same() float64 {
	return float64(p.HeadSwitch) * float64(p.Heads-1) / float64(p.Heads)
}

// band is a run of cylinders that are equally likely to be asked for.
type band struct {
	cyl, cyls, spt int64
	weight         float64 // probability of each of its cylinders
}

func (b band) share() float64 { return b.weight * float64(b.cyls) }

// bands covers the first sectors of the disk; a partly covered cylinder counts
// as a band of its own.
func (g *geometry) bands(sectors int64) []band {
	var bands []band
	for _, z := range g.zones {
		left := min(sectors, g.sectors) - z.lba
		if left <= 0 {
			break
		}
		per := g.heads * z.spt
		whole := min(left/per, z.cyls)
		if whole > 0 {
			bands = append(bands, band{z.cyl, whole, z.spt, float64(per)})
		}
		if rest := left - whole*per; whole < z.cyls && rest > 0 {
			bands = append(bands, band{z.cyl + whole, 1, z.spt, float64(rest)})
		}
	}
	var sum float64
	for _, b := range bands {
		sum += b.share()
	}
	for i := range bands {
		bands[i].weight /= sum
	}
	return bands
}

// seekSums holds the seek time summed once and twice over the distance, so that
// a sum over all pairs of two bands is four look-ups.
type seekSums struct {
	twice []float64 // twice[d] sums, for i from 1 to d, the times of distances below i
}

func newSeekSums(p Profile, cylinders int64) seekSums {
	stretch := float64(p.Seek.Tracks) / float64(cylinders)
	s := seekSums{make([]float64, cylinders+2)}
	read, _ := p.Seek.motions()
	once := 0.0
	for d := int64(1); d < cylinders+2; d++ {
		once += read.time(float64(d-1) * stretch) // up to d-1; time(0) is 0
		s.twice[d] = s.twice[d-1] + once
	}
	return s
}

// between sums the seek time over all pairs of a cylinder in a and one in b.
func (s seekSums) between(a, b band) float64 {
	if a.cyl > b.cyl {
		a, b = b, a
	}
	if a.cyl == b.cyl {
		// Each pair of different cylinders both ways; each distance d occurs
		// n-d times.
		return 2 * s.twice[a.cyls]
	}
	// Distances run from b.cyl-(a.cyl+a.cyls-1) to b.cyl+b.cyls-1-a.cyl.
	gap := b.cyl - a.cyl - a.cyls + 1
	return s.twice[gap+a.cyls+b.cyls-1] - s.twice[gap+a.cyls-1] - s.twice[gap+b.cyls-1] + s.twice[gap-1]
}

// InnermostRate is the same of the innermost zone.
func (p Profile) InnermostRate() unit.Rate {
	p.OuterRate = p.InnerRate
	return p.SequentialRate()
}
