package workloads

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"spindle/reports/record"
	"spindle/workloads/latency"
)

// Values of Spec.Until, of what runs beside a workload.
const (
	untilForeground = "foreground" // it is asked to end when the workload has ended
	untilDone       = "done"       // the sample waits for its own end
)

// wholeOnly are metrics that mean something only of a program that ran to its
// end.
var wholeOnly = []string{"runtime", "files, slowest round"}

// besideMetrics gives the metrics of what runs beside the workload, under its
// name, in the order of the list.
func (s Spec) besideMetrics() []record.MetricInfo {
	var ms []record.MetricInfo
	for _, b := range s.Beside {
		p := b.program()
		if p == nil {
			continue
		}
		for _, m := range p.metrics() {
			if b.Until != untilDone && slices.Contains(wholeOnly, m.Name) {
				continue
			}
			m.Name, m.Primary = b.Slug()+": "+m.Name, false
			ms = append(ms, m)
		}
	}
	return ms
}

// validateBeside tells what is wrong with what runs beside the workload.
func (s Spec) validateBeside() error {
	if s.Until != "" {
		return errors.New("until: is for what runs beside a workload")
	}
	if s.After != 0 && len(s.Beside) == 0 {
		return errors.New("after: is for a workload with others beside it")
	}
	seen := map[string]bool{}
	for _, b := range s.Beside {
		if err := b.validateOne(); err != nil {
			return fmt.Errorf("beside: %w", err)
		}
		switch {
		case len(b.Beside) > 0 || b.After != 0 || b.Settings != nil || b.Aged != nil:
			return fmt.Errorf("beside: %s: beside, after, aged and settings stand with the workload itself", b.Slug())
		case !slices.Contains([]string{"", untilForeground, untilDone}, b.Until):
			return fmt.Errorf("beside: %s: until %q: there are foreground and done", b.Slug(), b.Until)
		case seen[b.Slug()]:
			return fmt.Errorf("beside: there is a %s already: give this one a name of its own (name: ...)", b.Slug())
		}
		seen[b.Slug()] = true
	}
	return nil
}

// EventsFile is where a run's starts and stops are, one a line.
const EventsFile = "events.jsonl"

// Event is something that happened during the timed part, on the clock of the
// counters.
type Event struct {
	Monotonic int64  `json:"monotonic_ns"` // CLOCK_MONOTONIC
	Workload  string `json:"workload"`
	What      string `json:"event"` // start, stop (it was asked to end), end
}

// assign says what this run is of: the program, its name, and all its settings.
func (r *run) assign() error {
	r.program, r.name, r.shared = r.job.Workload.program(), r.job.Workload.Slug(), &shared{}
	set, err := r.job.settings()
	if err != nil {
		return fmt.Errorf("job: %w", err)
	}
	r.set, r.job.Queue, r.job.Sysctl = set, set.Queue, set.Sysctl
	return nil
}

// event notes an event. Programs beside each other may call it at once.
func (r *run) event(what string) {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	r.shared.events = append(r.shared.events, Event{int64(latency.Now()), r.name, what})
}

// background is a program that runs beside the workload.
type background struct {
	spec    Spec
	run     *run
	metrics []record.Metric
	err     error
	ended   time.Time
	done    chan struct{}
}

// sub gives the run of a program beside this one: a directory of its own for its
// files, and one for what is kept of it. It warns into the same result.
func (r *run) sub(s Spec) *run {
	b := *r
	b.program, b.name, b.keep = s.program(), s.Slug(), filepath.Join(r.keep, "beside", s.Slug())
	if r.target == "" {
		b.dir = filepath.Join(r.dir, s.Slug())
	} else {
		b.dir = filepath.Join(r.dir, "beside", s.Slug())
	}
	b.stop = make(chan struct{})
	return &b
}

// prepareAll makes ready what the workload and those beside it need.
func (r *run) prepareAll(ctx context.Context) error {
	for _, s := range r.job.Workload.Beside {
		b := &background{spec: s, run: r.sub(s), done: make(chan struct{})}
		for _, dir := range []string{b.run.dir, b.run.out("")} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		if err := b.run.program.prepare(ctx, b.run); err != nil {
			return fmt.Errorf("%s: %w", b.run.name, err)
		}
		r.beside = append(r.beside, b)
	}
	return r.program.prepare(ctx, r)
}

// measureAll is the timed part: what runs beside the workload starts first, then
// the workload, and after its end the others end too. The metrics are the
// workload's, then theirs.
func (r *run) measureAll(ctx context.Context) ([]record.Metric, error) {
	failed := make(chan struct{}, len(r.beside))
	for _, b := range r.beside {
		go b.carryOn(ctx, failed)
	}
	ms, err := r.foreground(ctx, failed)
	ended := time.Now()
	for _, b := range r.beside {
		if b.spec.Until != untilDone || err != nil {
			b.end()
		}
	}
	for _, b := range r.beside {
		<-b.done
		if b.err != nil && err == nil {
			err = fmt.Errorf("%s, beside the workload: %w", b.run.name, b.err)
		}
		// The metrics are of a workload under a load that was not there.
		if early := ended.Sub(b.ended); b.err == nil && early > time.Second {
			r.warn("%s ended %.1f s before the workload beside it did", b.run.name, early.Seconds())
		}
		for _, m := range b.metrics {
			if b.spec.Until != untilDone && slices.Contains(wholeOnly, m.Name) {
				continue
			}
			m.Name, m.Primary = b.run.name+": "+m.Name, false
			ms = append(ms, m)
		}
	}
	if err != nil {
		return nil, err
	}
	return ms, nil
}

// foreground runs the workload itself, unless what should run beside it failed
// before it began.
func (r *run) foreground(ctx context.Context, failed <-chan struct{}) ([]record.Metric, error) {
	if len(r.beside) > 0 {
		select {
		case <-time.After(r.job.Workload.After.Std()):
		case <-failed:
			return nil, nil // its error is told
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	r.event("start")
	defer r.event("end")
	return r.program.measure(ctx, r)
}

func (b *background) carryOn(ctx context.Context, failed chan<- struct{}) {
	defer close(b.done)
	b.run.event("start")
	b.metrics, b.err = b.run.program.measure(ctx, b.run)
	b.run.event("end")
	b.ended = time.Now()
	if b.err != nil {
		failed <- struct{}{}
	}
}

// end asks the program to end.
func (b *background) end() {
	select {
	case <-b.done:
	default:
		b.run.event("stop")
		close(b.run.stop)
	}
}

// endFor is how long a program beside the workload may take to end. It may sit in
// the kernel behind all that it has dirtied.
const endFor = 5 * time.Minute

// wasAsked says whether the program was asked to end before it would have.
func (r *run) wasAsked() bool {
	select {
	case <-r.stop:
		return true
	default:
		return false
	}
}

// askToEnd is what a program beside the workload gets: dd, fio and spindle's own
// finish what they are at and report.
const askToEnd = syscall.SIGINT

// keepEvents writes the starts and stops.
func (r *run) keepEvents() error { return writeLines(r.out(EventsFile), r.shared.events) }
