package disk

import (
	"math"
	"sort"

	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

// zone is a band of cylinders with equally long tracks.
type zone struct {
	lba  int64 // of its first sector
	cyl  int64 // its first cylinder; 0 is outermost
	cyls int64
	spt  int64 // sectors per track
}

// geometry maps addresses to places. Address 0 is outermost; addresses fill a
// track, then the other tracks of the cylinder, then the next cylinder.
type geometry struct {
	sectors   int64
	cylinders int64
	heads     int64
	rev       float64 // ns per revolution
	headSkew  float64 // ns from the end of a track to the start of the next
	cylSkew   float64 // the same where the next is in another cylinder
	phase     float64 // angle at time 0, in turns
	zones     []zone
}

// place is a sector of a track. sector == spt is the end of the track: where
// the head is after the last sector passed.
type place struct {
	zone      int
	cyl, head int64
	sector    int64
	spt       int64
}

func newGeometry(p Profile) *geometry {
	g := &geometry{
		sectors:  int64(p.Capacity) / timing.SectorSize,
		heads:    int64(p.Heads),
		rev:      p.revolution(),
		headSkew: float64(p.HeadSkew),
		cylSkew:  float64(p.CylinderSkew),
	}
	var all int64 // sectors of one track in each zone
	for i := range p.Zones {
		in := 0.0
		if p.Zones > 1 {
			in = float64(i) / float64(p.Zones-1)
		}
		rate := float64(p.OuterRate) + in*float64(p.InnerRate-p.OuterRate)
		spt := p.sectorsPerTrack(unit.Rate(rate))
		g.zones = append(g.zones, zone{spt: spt})
		all += spt
	}
	each := (g.sectors + all*g.heads - 1) / (all * g.heads)
	var lba int64
	for i := range g.zones {
		z := &g.zones[i]
		z.lba, z.cyl, z.cyls = lba, int64(i)*each, each
		lba += each * g.heads * z.spt
	}
	g.cylinders = each * int64(p.Zones)
	return g
}

// locate finds an address, which may be one past the last of the disk.
func (g *geometry) locate(lba int64) place {
	i := sort.Search(len(g.zones), func(i int) bool { return g.zones[i].lba > lba }) - 1
	z := g.zones[i]
	track, sector := (lba-z.lba)/z.spt, (lba-z.lba)%z.spt
	return place{zone: i, cyl: z.cyl + track/g.heads, head: track % g.heads, sector: sector, spt: z.spt}
}

// angle is where on the turn p starts, in revolutions from 0 to 1.
func (g *geometry) angle(p place) float64 {
	skew := float64(p.cyl)*(float64(g.heads-1)*g.headSkew+g.cylSkew) + float64(p.head)*g.headSkew
	a := skew/g.rev + float64(p.sector)/float64(p.spt)
	return a - math.Floor(a)
}

// next is the start of the following track, and the skew to it in ns.
func (g *geometry) next(p place) (place, float64) {
	p.sector = 0
	if p.head++; p.head < g.heads {
		return p, g.headSkew
	}
	p.head = 0
	p.cyl++
	if z := g.zones[p.zone]; p.cyl >= z.cyl+z.cyls && p.zone+1 < len(g.zones) {
		p.zone++
		p.spt = g.zones[p.zone].spt
	}
	return p, g.cylSkew
}

// transfer is how long n sectors from p take to pass under the heads, in ns,
// and where the head is then.
func (g *geometry) transfer(p place, n int64) (float64, place) {
	t := 0.0
	for {
		k := min(n, p.spt-p.sector)
		t += float64(k) / float64(p.spt) * g.rev
		p.sector += k
		if n -= k; n == 0 {
			return t, p
		}
		var skew float64
		p, skew = g.next(p)
		t += skew
	}
}

// passed is how many whole sectors, at most limit, pass from p within t ns.
func (g *geometry) passed(p place, t float64, limit int64) int64 {
	// A sector whose end is due to the nanosecond has passed; without this a
	// rounded time would miss it.
	t += 1
	n := int64(0)
	for t > 0 {
		left := p.spt - p.sector
		k := int64(t / g.rev * float64(p.spt))
		if k < left || n+left >= limit {
			return min(n+min(k, left), limit)
		}
		n += left
		t -= float64(left) / float64(p.spt) * g.rev
		var skew float64
		p, skew = g.next(p)
		t -= skew
	}
	return n
}
