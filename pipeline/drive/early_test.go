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
	d := make1(t, small, Options{Early: early})
	d.change(func() timing.Model { return &steady{service: service} }, early)
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
	d := make1(t, small, Options{Early: early})
	d.change(func() timing.Model { return &steady{service: service} }, early)
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
