package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Clock is the trace clock that is set: CLOCK_MONOTONIC.
const Clock = "mono"

// BlkTracer is the word for the block tracer, beside groups of events.
const BlkTracer = "blk"

// Explain is the word for the events that Explained is made of.
const Explain = "explain"

// explaining are those events. A kernel lacks none of them since 4.0, but for
// the last.
var explaining = []string{
	"writeback/balance_dirty_pages", "writeback/writeback_single_inode",
	"block/block_rq_issue", "block/block_rq_complete", "block/block_rq_requeue",
}

// Files gives the files below events/ that switch on what a word stands for: a
// group ("block"), one event ("writeback:balance_dirty_pages") or Explain.
func Files(word string) []string {
	if word != Explain {
		return []string{filepath.Join(strings.ReplaceAll(word, ":", "/"), "enable")}
	}
	var all []string
	for _, e := range explaining {
		all = append(all, filepath.Join(e, "enable"))
	}
	return all
}

// Config is what is traced.
type Config struct {
	Dir    string   // tracefs
	Words  []string // see Files; BlkTracer is one
	Drives []string // files trace/enable of the drives, for the block tracer
	KiB    int      // of buffer for each CPU
}

// Start empties the buffer and switches tracing on. Each file that a kernel does
// not have is an error.
func Start(c Config) error {
	set := func(file, value string) error {
		err := os.WriteFile(file, []byte(value), 0)
		if err != nil {
			return fmt.Errorf("set trace: this kernel cannot: %w", err)
		}
		return nil
	}
	in := func(file string) string { return filepath.Join(c.Dir, file) }
	if err := errors.Join(
		set(in("tracing_on"), "0"), set(in("current_tracer"), "nop"), set(in("trace_clock"), Clock),
		set(in("buffer_size_kb"), strconv.Itoa(c.KiB)),
	); err != nil {
		return err
	}
	// Names of tasks; the kernel keeps 128 otherwise.
	os.WriteFile(in("saved_cmdlines_size"), []byte("1024"), 0)
	for _, w := range c.Words {
		if w != BlkTracer {
			for _, f := range Files(w) {
				if err := set(in(filepath.Join("events", f)), "1"); err != nil {
					return err
				}
			}
			continue
		}
		if err := set(in("current_tracer"), BlkTracer); err != nil {
			return err
		}
		for _, d := range c.Drives {
			if err := set(d, "1"); err != nil {
				return err
			}
		}
	}
	return errors.Join(set(in("trace"), ""), set(in("tracing_on"), "1"))
}

// Buffer is what was traced.
type Buffer struct {
	Pages [][]byte       // of each CPU, in the order of their numbers
	Lost  int64          // events that the buffer had no room for
	Names map[int]string // of tasks
}

// Off switches tracing off; what was traced stays in the buffer.
func Off(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "tracing_on"), []byte("0"), 0); err != nil {
		return fmt.Errorf("end trace: %w", err)
	}
	return nil
}

// Take takes the buffer, which is empty then. Tracing must be off.
func Take(dir string) (Buffer, error) {
	var b Buffer
	cpus, _ := filepath.Glob(filepath.Join(dir, "per_cpu", "cpu*"))
	slices.SortFunc(cpus, func(a, b string) int { return cpuNumber(a) - cpuNumber(b) })
	for i, cpu := range cpus {
		if cpuNumber(cpu) != i {
			return b, fmt.Errorf("take trace: %s is not CPU %d", cpu, i)
		}
		stats, err := os.ReadFile(filepath.Join(cpu, "stats"))
		if err != nil {
			return b, fmt.Errorf("take trace: %w", err)
		}
		b.Lost += overrun(string(stats))
		pages, err := take(filepath.Join(cpu, "trace_pipe_raw"))
		if err != nil {
			return b, fmt.Errorf("take trace: %w", err)
		}
		b.Pages = append(b.Pages, pages)
	}
	text, err := os.ReadFile(filepath.Join(dir, "saved_cmdlines"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // an instance has none
		return b, fmt.Errorf("take trace: %w", err)
	}
	b.Names = names(string(text))
	return b, nil
}

func cpuNumber(path string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), "cpu"))
	if err != nil {
		return -1
	}
	return n
}

// take reads a CPU's pages, each of which ends where the kernel's does.
func take(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	var all bytes.Buffer
	for page := make([]byte, PageSize); ; {
		n, err := unix.Read(fd, page)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), err == nil && n == 0:
			return all.Bytes(), nil
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", path, err)
		case n != PageSize:
			return nil, fmt.Errorf("read %s: %d bytes, want pages of %d: %w", path, n, PageSize, io.ErrUnexpectedEOF)
		default:
			all.Write(page)
		}
	}
}

// overrun reads how many events a CPU's buffer lost from its file stats.
func overrun(stats string) (lost int64) {
	for line := range strings.Lines(stats) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "overrun" || name == "commit overrun" || name == "dropped events" {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				lost += n
			}
		}
	}
	return lost
}

// names reads saved_cmdlines, "PID NAME" lines.
func names(text string) map[int]string {
	out := map[int]string{}
	for line := range strings.Lines(text) {
		pid, name, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if n, err := strconv.Atoi(pid); ok && err == nil {
			out[n] = name
		}
	}
	return out
}

// Events gives all events in the order of time. Those of one CPU stay in their
// order also where its clock stood still.
func (b Buffer) Events() ([]Event, error) {
	var all []Event
	var errs []error
	for cpu, pages := range b.Pages {
		for ; len(pages) > 0; pages = pages[min(PageSize, len(pages)):] {
			_, err := EachEvent(pages[:min(PageSize, len(pages))], cpu, func(e Event) { all = append(all, e) })
			if err != nil {
				errs = append(errs, fmt.Errorf("CPU %d: %w", cpu, err))
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	return all, errors.Join(errs...)
}

// Pack writes the buffer as a trace.dat.
func (b Buffer) Pack(w io.Writer, dir, kallsyms string) error {
	return Pack(w, dir, kallsyms, Clock, b.Pages)
}
