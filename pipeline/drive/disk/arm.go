package disk

import "math"

// tolerance is how late, in revolutions, a sector may be met and still be met.
// Times are rounded to nanoseconds, so a disk that goes on where it stopped may
// seem to come a fraction of one too late; without tolerance it would wait for
// a whole turn.
const tolerance = 1e-6

// arm is where the heads are.
type arm struct {
	g         *geometry
	read      motion
	write     motion
	stretch   float64 // tracks of the seek curve per cylinder
	headSwtch float64 // ns
	at        place
}

func newArm(g *geometry, p Profile) arm {
	read, write := p.Seek.motions()
	return arm{
		g:         g,
		read:      read,
		write:     write,
		stretch:   float64(p.Seek.Tracks) / float64(g.cylinders),
		headSwtch: float64(p.HeadSwitch),
		at:        g.locate(0),
	}
}

// reach tells when sector to has come under its head if the arm sets out at
// now, both in ns. extra is added to the time of a seek.
func (a *arm) reach(now float64, to place, write bool, extra float64) float64 {
	return a.g.meet(now+a.move(to, write, extra), to)
}

// move is the time to be settled on the track of to.
func (a *arm) move(to place, write bool, extra float64) float64 {
	d := to.cyl - a.at.cyl
	if d < 0 {
		d = -d
	}
	if d == 0 {
		if to.head != a.at.head {
			return a.headSwtch
		}
		return 0
	}
	curve := &a.read
	if write {
		curve = &a.write
	}
	t := curve.time(float64(d)*a.stretch) + extra
	if to.head != a.at.head {
		t = max(t, a.headSwtch)
	}
	return t
}

// meet is when the sector comes round, from the time t on.
func (g *geometry) meet(t float64, to place) float64 {
	turn := g.angle(to) - t/g.rev - g.phase
	turn -= math.Floor(turn)
	if turn > 1-tolerance {
		turn--
	}
	return t + turn*g.rev
}
