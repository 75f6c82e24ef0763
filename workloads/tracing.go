package workloads

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"spindle/internal/fault"
)

// TraceFile is the text of the kernel's trace, if the job asked for one.
const TraceFile = "trace.txt"

const (
	// traceBuffer is for each CPU, in KiB: what the trace of one sample may
	// fill before it overwrites itself, which is told.
	traceBuffer = 16 << 10
	// mostTrace is how much text of it is kept.
	mostTrace = 64 << 20
)

// tracer is the word for the block tracer, beside groups of events.
const tracer = "blk"

// startTrace switches tracing on (Documentation/trace/ftrace.rst). Its cost is
// what a second condition without it shows.
func (r *run) startTrace() error {
	if len(r.set.Trace) == 0 {
		return nil
	}
	dir := r.sys.path("sys/kernel/debug/tracing")
	set := func(file, value string) error {
		err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0)
		if err != nil {
			return &fault.Error{Kind: fault.Kernel, Reason: "setting", Err: fmt.Errorf("set trace: this kernel cannot: %w", err)}
		}
		return nil
	}
	if err := errors.Join(set("current_tracer", "nop"), set("buffer_size_kb", strconv.Itoa(traceBuffer))); err != nil {
		return err
	}
	for _, t := range r.set.Trace {
		if t != tracer {
			if err := set(filepath.Join("events", t, "enable"), "1"); err != nil {
				return err
			}
			continue
		}
		if err := set("current_tracer", "blk"); err != nil {
			return err
		}
		if err := os.WriteFile(r.drive.Path("trace/enable"), []byte("1"), 0); err != nil {
			return &fault.Error{Kind: fault.Kernel, Reason: "setting", Err: fmt.Errorf("set trace: this kernel has no blk tracer for %s: %w", r.drive.Name, err)}
		}
	}
	return errors.Join(set("trace", ""), set("tracing_on", "1"))
}

// stopTrace switches it off and keeps its text. What the buffer had no room for
// is told: a trace with holes is no proof of what did not happen.
func (r *run) stopTrace() error {
	if len(r.set.Trace) == 0 {
		return nil
	}
	dir := r.sys.path("sys/kernel/debug/tracing")
	if err := os.WriteFile(filepath.Join(dir, "tracing_on"), []byte("0"), 0); err != nil {
		return fmt.Errorf("end trace: %w", err)
	}
	stats, _ := filepath.Glob(filepath.Join(dir, "per_cpu/cpu*/stats"))
	var lost int64
	for _, s := range stats {
		text, err := os.ReadFile(s)
		if err != nil {
			return fmt.Errorf("end trace: %w", err)
		}
		lost += overrun(string(text))
	}
	if lost > 0 {
		r.warn("trace: %d events were overwritten: the buffer of %d MiB a CPU was too small", lost, traceBuffer>>10)
	}
	from, err := os.Open(filepath.Join(dir, "trace"))
	if err != nil {
		return fmt.Errorf("end trace: %w", err)
	}
	defer from.Close()
	to, err := os.Create(r.out(TraceFile))
	if err != nil {
		return err
	}
	defer to.Close()
	n, err := io.CopyN(to, bufio.NewReaderSize(from, 1<<20), mostTrace)
	switch {
	case errors.Is(err, io.EOF):
		err = nil
	case err == nil && n == mostTrace:
		r.warn("trace: only its first %d MiB of text are kept", mostTrace>>20)
	}
	return errors.Join(err, to.Close())
}

// overrun reads how many events a CPU's buffer lost from its stats file.
func overrun(stats string) (lost int64) {
	for line := range strings.Lines(stats) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "overrun" || name == "dropped events" {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				lost += n
			}
		}
	}
	return lost
}
