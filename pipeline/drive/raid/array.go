package raid

import (
	"fmt"
	"slices"
	"time"

	"spindle/internal/unit"
	"spindle/pipeline/drive/dirty"
	"spindle/pipeline/drive/timing"
)

// Config is an array.
type Config struct {
	Level      Level
	Unit       unit.Size // of striping
	Member     unit.Size // capacity that is used of each member
	Controller Controller
}

// Capacity is what an array of n members holds: whole stripe units.
func (c Config) Capacity(n int) unit.Size {
	return c.Member / c.Unit * c.Unit * unit.Size(c.Level.Data(n))
}

// Array is the state of an array. It must not be used by several goroutines at
// a time.
type Array struct {
	layout
	c       Controller
	sectors int64
	members []member

	now  time.Duration
	cpu  time.Duration // when the controller's processor is free
	link time.Duration // the same

	outside  []*command
	inside   int
	decoding []*command // in order of ready
	done     []*command // in order of at
	out      []timing.Completion

	locked map[int64][]*job // by row; the first has the lock, the others wait
	lastID uint64

	cache    int64 // sectors
	dirty    dirty.Set
	flying   []*job     // being destaged
	landing  int64      // their sectors
	admit    []*command // writes that wait for room
	draining bool
	since    time.Duration // when the cache was last empty
	position int64
}

type member struct {
	timing.Model
	waiting   []posted
	busy      int
	last      int64
	jobs      map[uint64]*job
	destaging int
}

type posted struct {
	sub
	job *job
}

// command is a request in the controller.
type command struct {
	timing.Request
	ready time.Duration
	link  time.Duration
	at    time.Duration
	jobs  int
	taken int64 // sectors in the cache
}

// New makes an array of members, which must be unused and of the same size.
func New(c Config, members []timing.Model) (*Array, error) {
	if err := c.Level.Check(len(members)); err != nil {
		return nil, fmt.Errorf("make array: raid %s: %w", c.Level, err)
	}
	if err := c.Controller.Validate(); err != nil {
		return nil, fmt.Errorf("make array: controller: %w", err)
	}
	if c.Unit <= 0 || c.Unit%timing.SectorSize != 0 || c.Member < c.Unit {
		return nil, fmt.Errorf("make array: stripe unit %s: not a multiple of 512 bytes within a member", c.Unit)
	}
	a := &Array{
		layout:  layout{c.Level, len(members), int64(c.Unit) / timing.SectorSize},
		c:       c.Controller,
		sectors: int64(c.Capacity(len(members))) / timing.SectorSize,
		cache:   int64(c.Controller.Cache) / timing.SectorSize,
		locked:  map[int64][]*job{},
	}
	for _, m := range members {
		a.members = append(a.members, member{Model: m, jobs: map[uint64]*job{}})
	}
	return a, nil
}

// Sectors is the capacity.
func (a *Array) Sectors() int64 { return a.sectors }

// Arrive takes a request; see [timing.Model]. The range must lie within the
// array.
func (a *Array) Arrive(now time.Duration, r timing.Request) {
	r.MustFit("raid", a.sectors)
	a.run(now)
	c := &command{Request: r}
	if a.inside >= a.c.Depth {
		a.outside = append(a.outside, c)
		return
	}
	a.enter(c)
}

// Next is when something happens next.
func (a *Array) Next() (due time.Duration, ok bool) {
	if len(a.out) > 0 {
		return a.now, true
	}
	return a.event()
}

// Advance moves the array to the time now; see [timing.Model].
func (a *Array) Advance(now time.Duration) []timing.Completion {
	a.run(now)
	out := a.out
	a.out = nil
	return out
}

// Volatile is what the members' own caches would lose. The controller's cache
// loses nothing.
func (a *Array) Volatile(from, to int64) []timing.Extent {
	var list []timing.Extent
	for i := range a.members {
		m, ok := a.members[i].Model.(timing.Cache)
		if !ok {
			continue
		}
		for _, e := range m.Volatile(0, (a.sectors/a.data()+a.unit-1)/a.unit*a.unit) {
			for lba := e.LBA; lba < e.LBA+e.Sectors; {
				n := min(a.unit-lba%a.unit, e.LBA+e.Sectors-lba)
				if at, ok := a.back(i, lba); ok {
					if first, last := max(at, from), min(at+n, to); first < last {
						list = append(list, timing.Extent{LBA: first, Sectors: last - first})
					}
				}
				lba += n
			}
		}
	}
	return list
}

func (a *Array) enter(c *command) {
	a.inside++
	took := a.c.Write.Std()
	if c.Op == timing.Read {
		took = a.c.Read.Std()
	}
	a.cpu = max(a.now, a.cpu) + took
	c.ready = a.cpu
	a.decoding = append(a.decoding, c)
}

func (a *Array) event() (due time.Duration, ok bool) {
	soonest := func(t time.Duration) {
		if !ok || t < due {
			due, ok = t, true
		}
	}
	for i := range a.members {
		if t, some := a.members[i].Next(); some {
			soonest(t)
		}
	}
	if len(a.decoding) > 0 {
		soonest(a.decoding[0].ready)
	}
	if len(a.done) > 0 {
		soonest(a.done[0].at)
	}
	if !a.draining && a.dirty.Sectors() > 0 {
		soonest(a.since + a.c.Destage.Interval.Std())
	}
	return due, ok
}

func (a *Array) run(now time.Duration) {
	timing.Run(&a.now, now, a.event, a.step)
}

// step handles what is due at a.now, in a fixed order.
func (a *Array) step() {
	for i := range a.members {
		m := &a.members[i]
		for _, c := range m.Advance(a.now) {
			j := m.jobs[c.ID]
			delete(m.jobs, c.ID)
			m.busy--
			if j.left--; j.left == 0 {
				a.phase(j)
			}
		}
	}
	for len(a.decoding) > 0 && a.decoding[0].ready <= a.now {
		c := a.decoding[0]
		a.decoding = a.decoding[1:]
		a.begin(c)
	}
	for len(a.done) > 0 && a.done[0].at <= a.now {
		c := a.done[0]
		a.done = a.done[1:]
		a.out = append(a.out, timing.Completion{ID: c.ID, Start: c.ready, At: c.at})
		a.inside--
		if len(a.outside) > 0 {
			next := a.outside[0]
			a.outside = a.outside[1:]
			a.enter(next)
		}
	}
	a.destage()
	a.post()
}

// begin looks at a command that was just decoded.
func (a *Array) begin(c *command) {
	switch c.Op {
	case timing.Flush:
		if a.cache > 0 {
			a.complete(c, a.now)
			return
		}
		var subs []sub
		for i := range a.members {
			subs = append(subs, sub{i, timing.Request{Op: timing.Flush}})
		}
		a.start(c, [][]sub{subs}, -1)
	case timing.Trim:
		a.dirty.Remove(c.LBA, c.LBA+c.Sectors, nil)
		a.fill()
		a.complete(c, a.now)
	case timing.Read:
		if a.held(c.LBA) >= c.LBA+c.Sectors {
			a.answer(c)
			return
		}
		a.start(c, a.reads(c.LBA, c.Sectors), -1)
	case timing.Write:
		a.link = max(a.now, a.link) + a.linkTime(c.Sectors)
		c.link = a.link
		if a.cache > 0 {
			a.admit = append(a.admit, c)
			a.fill()
			return
		}
		pieces := a.split(c.LBA, c.Sectors)
		if a.level.parities() == 0 {
			a.start(c, a.writes(pieces, c.FUA), -1)
			return
		}
		for _, row := range rows(pieces) {
			a.start(c, a.writes(row, c.FUA), row[0].row)
		}
	}
}

func (a *Array) linkTime(sectors int64) time.Duration {
	return time.Duration(float64(sectors*timing.SectorSize) / float64(a.c.Link) * float64(time.Second))
}

// answer lets the data of a read cross to the host.
func (a *Array) answer(c *command) {
	a.link = max(a.now, a.link) + a.linkTime(c.Sectors)
	a.complete(c, a.link)
}

// complete sets the time at which c is done.
func (a *Array) complete(c *command, at time.Duration) {
	c.at = max(at, a.now) + a.c.Latency.Std()
	i, _ := slices.BinarySearchFunc(a.done, c, func(x, y *command) int {
		if x.at <= y.at { // after those of the same time
			return -1
		}
		return 1
	})
	a.done = slices.Insert(a.done, i, c)
}

// start gives a command a job.
func (a *Array) start(c *command, phases [][]sub, row int64) {
	c.jobs++
	a.lock(&job{command: c, phases: phases, row: row})
}

// lock starts a job when no other works on its row: parity is computed from
// what was read, which must not change meanwhile.
func (a *Array) lock(j *job) {
	if j.row >= 0 {
		a.locked[j.row] = append(a.locked[j.row], j)
		if len(a.locked[j.row]) > 1 {
			return
		}
	}
	a.issue(j)
}

// issue puts the first phase of j into the members' queues.
func (a *Array) issue(j *job) {
	j.left = len(j.phases[0])
	for _, s := range j.phases[0] {
		m := &a.members[s.member]
		m.waiting = append(m.waiting, posted{s, j})
	}
}

// phase ends a phase of j.
func (a *Array) phase(j *job) {
	if j.phases = j.phases[1:]; len(j.phases) > 0 {
		a.issue(j)
		return
	}
	if j.row >= 0 {
		if rest := a.locked[j.row][1:]; len(rest) > 0 {
			a.locked[j.row] = rest
			a.issue(rest[0])
		} else {
			delete(a.locked, j.row)
		}
	}
	c := j.command
	if c == nil {
		a.landed(j)
		return
	}
	if c.jobs--; c.jobs > 0 {
		return
	}
	if c.Op == timing.Read {
		a.answer(c)
	} else {
		a.complete(c, c.link)
	}
}

// post hands waiting requests to members that have room for them.
func (a *Array) post() {
	for i := range a.members {
		m := &a.members[i]
		for len(m.waiting) > 0 && m.busy < a.c.MemberDepth {
			p := m.waiting[0]
			m.waiting = m.waiting[1:]
			m.busy++
			m.last = p.LBA + p.Sectors
			a.lastID++
			p.Request.ID = a.lastID
			m.jobs[a.lastID] = p.job
			m.Arrive(a.now, p.Request)
		}
	}
}
