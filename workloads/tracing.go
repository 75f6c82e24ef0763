package workloads

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"spindle/internal/fault"
	"spindle/reports/record"
	"spindle/workloads/latency"
	"spindle/workloads/trace"
)

// The kernel's trace, if the job asked for one.
const (
	// TraceFile is for trace-cmd and KernelShark; "trace-cmd report -i trace.dat"
	// makes text of it.
	TraceFile = "trace.dat"
	// TraceText is the kernel's own text. It is kept of the block tracer only,
	// whose entries trace-cmd shows without what they are of.
	TraceText = "trace.txt"
)

const (
	// mostTraceBuffer is for each CPU, in KiB: what the trace of one sample may
	// fill before it overwrites itself, which is told. A small guest gives a
	// thirty-second of its memory, lest the buffer be what is measured.
	mostTraceBuffer  = 16 << 10
	leastTraceBuffer = 1 << 10
	traceShare       = 32
	// mostTraceText is how much text is kept.
	mostTraceText = 64 << 20
)

// explainEvery is the step of the series of writeback's doings.
const explainEvery = time.Second

// traceDir is where the events are traced.
func (r *run) traceDir() string { return r.sys.path("sys/kernel/debug/tracing") }

// startTrace switches tracing on. Its cost is what a second condition without it
// shows.
func (r *run) startTrace() error {
	if len(r.set.Trace) == 0 {
		return nil
	}
	c := trace.Config{Dir: r.traceDir(), Words: r.set.Trace, KiB: r.traceBuffer()}
	for _, d := range r.queues() {
		c.Drives = append(c.Drives, d.Path("trace/enable"))
	}
	if err := trace.Start(c); err != nil {
		return &fault.Error{Kind: fault.Kernel, Reason: "setting", Err: err}
	}
	r.traced.from = latency.Now()
	return nil
}

// traceBuffer gives the buffer of a CPU in KiB.
func (r *run) traceBuffer() int {
	return min(max(int(r.sys.memory()/traceShare), leastTraceBuffer), mostTraceBuffer)
}

// endTrace switches it off when the timed part is over.
func (r *run) endTrace() error {
	if r.traced.from == 0 {
		return nil
	}
	r.traced.to = latency.Now()
	return trace.Off(r.traceDir())
}

// keepTrace keeps it, and what it tells of writeback. What the buffer had no room
// for is told: a trace with holes is no proof of what did not happen.
func (r *run) keepTrace() error {
	if r.traced.from == 0 {
		return nil
	}
	if slices.Contains(r.set.Trace, trace.BlkTracer) {
		if err := r.keepTraceText(); err != nil {
			return err
		}
	}
	b, err := trace.Take(r.traceDir())
	if err != nil {
		return err
	}
	if b.Lost > 0 {
		r.warn("trace: %d events were overwritten: the buffer of %d KiB a CPU was too small", b.Lost, r.traceBuffer())
	}
	f, err := os.Create(r.out(TraceFile))
	if err != nil {
		return err
	}
	if err := errors.Join(b.Pack(f, r.traceDir(), ""), f.Close()); err != nil {
		return fmt.Errorf("keep trace: %w", err)
	}
	if !slices.Contains(r.set.Trace, trace.Explain) {
		return nil
	}
	return r.explain(b)
}

// keepTraceText keeps the text, which takes nothing out of the buffer.
func (r *run) keepTraceText() error {
	from, err := os.Open(filepath.Join(r.traceDir(), "trace"))
	if err != nil {
		return fmt.Errorf("keep trace: %w", err)
	}
	defer from.Close()
	to, err := os.Create(r.out(TraceText))
	if err != nil {
		return err
	}
	n, err := io.CopyN(to, from, mostTraceText)
	switch {
	case errors.Is(err, io.EOF):
		err = nil
	case err == nil && n == mostTraceText:
		r.warn("trace: only the first %d MiB of its text are kept", mostTraceText>>20)
	}
	if err := errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("keep trace: %w", err)
	}
	return nil
}

// explain works out of the trace what writeback did.
func (r *run) explain(b trace.Buffer) error {
	x, err := trace.NewExplainer(r.traceDir())
	if err != nil {
		return fmt.Errorf("explain writeback: %w", err)
	}
	for _, d := range r.queues() {
		if dev, err := d.Read("dev"); err == nil {
			x.Drive(dev)
		}
	}
	events, err := b.Events()
	if err != nil {
		r.warn("trace: %v: what writeback did is told of the rest", err)
	}
	out := x.Explain(events, r.traced.from, r.traced.to, explainEvery, b.Names)
	out.Lost = b.Lost
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.job.Dir, r.keep, record.Writeback), append(text, '\n'), 0o600)
}
