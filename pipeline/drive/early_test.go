package drive

import (
	"testing"
	"time"

	"spindle/internal/nbd"
	"spindle/pipeline/drive/timing"
)

// A drive that answers early stays as fast as its model and no faster: of a
// chain of requests, each sent when the one before was answered, only the last
// is short of its time. That it is not slower is a matter of the host.
func TestEarly(t *testing.T) {
	const service, early, n = 8 * time.Millisecond, 3 * time.Millisecond, 5
	d := make1(t, small, Options{Early: Early{Read: Lead{Small: early}, Write: Lead{Small: early}}})
	d.change(func() timing.Model { return &steady{service: service} }, Early{Read: Lead{Small: early}, Write: Lead{Small: early}})
	began := time.Now()
	var first time.Duration
	for range n {
		answered := make(chan error, 1)
		d.Submit(&nbd.Request{Op: nbd.Read, Data: make([]byte, 4096), Length: 4096}, func(err error) { answered <- err })
		if err := <-answered; err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = time.Since(began)
		}
	}
	if took := time.Since(began); took < n*service-early {
		t.Errorf("%d requests of %v took %v, answered %v early: want at least %v", n, service, took, early, n*service-early)
	}
	if first < service-early {
		t.Errorf("the first answer came after %v", first)
	}
	s := d.Stats()
	if s.MeanService != service || s.Lateness.OutOfRange != 0 || s.Lateness.Count > n {
		t.Errorf("%+v", s)
	}
}

// What takes less time than the drive answers early is answered at once, and
// never counts as answered before it came.
func TestEarlyCache(t *testing.T) {
	const service, early, n = 100 * time.Microsecond, 3 * time.Millisecond, 50
	d := make1(t, small, Options{Early: Early{Read: Lead{Small: early}, Write: Lead{Small: early}}})
	d.change(func() timing.Model { return &steady{service: service} }, Early{Read: Lead{Small: early}, Write: Lead{Small: early}})
	for range n {
		answered := make(chan error, 1)
		d.Submit(&nbd.Request{Op: nbd.Read, Data: make([]byte, 4096), Length: 4096}, func(err error) { answered <- err })
		<-answered
	}
	if ahead := d.reached - (monotonic() - d.epoch); ahead > early {
		t.Errorf("the model is %v ahead of the clock, with %v allowed", ahead, early)
	}
	if s := d.Stats(); s.Lateness.OutOfRange != 0 || s.MeanWait > early {
		t.Errorf("%+v", s)
	}
}

// noting is a steady model that notes when requests came, in its time.
type noting struct {
	steady
	came []time.Duration
}

func (n *noting) Arrive(now time.Duration, r timing.Request) {
	n.came = append(n.came, now)
	n.steady.Arrive(now, r)
}

// After a late answer the model takes the next request for having come when it
// would have come had the answer been in time: not later, as far as the lag may
// go, and never before the answer was due.
func TestLag(t *testing.T) {
	for _, held := range []time.Duration{0, 3 * time.Millisecond, 20 * time.Millisecond} {
		const service = 8 * time.Millisecond
		d := make1(t, small, Options{})
		m := &noting{steady: steady{service: service}}
		d.change(func() timing.Model { return m }, Early{})
		answered := make(chan error, 1)
		read := func() {
			d.Submit(&nbd.Request{Op: nbd.Read, Data: make([]byte, 4096), Length: 4096}, func(err error) { answered <- err })
		}
		read()
		d.mu.Lock() // the host has no time for the drive
		due := d.epoch + m.came[0] + service
		for monotonic() < due+held {
			time.Sleep(100 * time.Microsecond)
		}
		d.mu.Unlock()
		<-answered
		left := monotonic() - d.epoch
		read()
		second := m.came[1]
		now := monotonic() - d.epoch
		<-answered
		if first := m.came[0] + service; second < first {
			t.Errorf("held for %v: the second came at %v in the model, before the first was due at %v", held, second, first)
		}
		late := left - (m.came[0] + service) // at least; the drive was late by less than that
		if lag := now - second; lag > min(late, maxLag)+(now-left) {
			t.Errorf("held for %v: the model takes %v off for an answer that was %v late", held, lag, late)
		}
		if earliest := now - min(held, maxLag); held > 0 && second > earliest {
			t.Errorf("held for %v: the second came at %v in the model and at %v by the clock: want at most %v", held, second, now, earliest)
		}
	}
}

func TestEarlyOf(t *testing.T) {
	const ms = time.Millisecond
	e := Lead{Small: 2 * ms, Large: 3 * ms}
	for _, tt := range []struct {
		e      Lead
		length int64
		want   time.Duration
	}{
		{e, 512, 2 * ms},
		{e, 4 << 10, 2 * ms},
		{e, 34 << 10, 2500 * time.Microsecond}, // half of the way
		{e, 64 << 10, 3 * ms},
		{e, 124 << 10, 4 * ms}, // as far again
		{e, 1 << 20, 19 * ms},  // 1020/60 times the way
		{e, 32 << 20, 19 * ms}, // no further than that
		{Lead{Small: 2 * ms}, 1 << 20, 2 * ms},
		{Lead{}, 1 << 20, 0},
	} {
		if got := tt.e.of(tt.length); got != tt.want {
			t.Errorf("%+v of %d: %v, want %v", tt.e, tt.length, got, tt.want)
		}
	}
}
