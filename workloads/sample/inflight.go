package sample

import (
	"fmt"
	"os"
	"time"
)

// Flight is how many requests a drive had at one moment
// (Documentation/ABI/stable/sysfs-block, inflight).
type Flight struct {
	Monotonic int64 // CLOCK_MONOTONIC, ns
	Reads     uint64
	Writes    uint64
}

// Watcher looks at a drive's requests more often than the sampler does, to know
// what was in flight while an operation of a tenth of a second stalled. What it
// sees stays in memory: some 240 bytes for each second.
type Watcher struct {
	seen []Flight
	stop chan struct{}
	done chan struct{}
}

// Watch reads the file inflight of a drive each time that every has passed. One
// that is not there gives nothing.
func Watch(file string, every time.Duration) *Watcher {
	w := &Watcher{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
			f := Flight{Monotonic: int64(monotonic())}
			text, err := os.ReadFile(file)
			if err != nil {
				return
			}
			if _, err := fmt.Sscan(string(text), &f.Reads, &f.Writes); err == nil {
				w.seen = append(w.seen, f)
			}
		}
	}()
	return w
}

// Stop ends it and gives what it saw. It must be called once.
func (w *Watcher) Stop() []Flight {
	close(w.stop)
	<-w.done
	return w.seen
}
