package torture

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"spindle/workloads/crand"
)

// seed is the published program's, "so our runs are always the same".
const seed = 4096

// offsets gives the places of the random writes, one after the other, in a file
// of size bytes. The last block is never among them: the published program
// takes the random number times 4096 modulo (size - 4096).
func offsets(size int64) func() int64 {
	r := crand.NewRand(seed)
	blocks := size/Block - 1
	return func() int64 { return int64(r.Next()) % blocks * Block }
}

// writer is the random writer's process: it writes without end, until SIGTERM.
// Its count goes to counts, "writes nanoseconds" a line, at the start, each second
// and at the end, so that it is known even if the last moment is lost.
//
// The telling is done by another thread than the writing: the kernel may hold
// the writer for minutes in balance_dirty_pages, where it takes no signal but a
// deadly one.
func writer(o Options, stdout, counts *os.File) error {
	f, err := open(o.Dir, RandomFile)
	if err != nil {
		return err
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	var n atomic.Int64
	start := time.Now()
	go func() {
		tick := time.NewTicker(time.Second)
		for {
			select {
			case <-tick.C:
				tell(counts, n.Load(), time.Since(start))
			case <-term:
				tell(counts, n.Load(), time.Since(start))
				os.Exit(0)
			}
		}
	}()
	fmt.Fprintln(stdout, "starting random io!")
	tell(counts, 0, 0)
	return writeForever(f, o.File, &n)
}

func tell(w io.Writer, n int64, d time.Duration) {
	fmt.Fprintf(w, "%d %d\n", n, d.Nanoseconds())
}

func writeForever(f *os.File, size int64, n *atomic.Int64) error {
	runtime.LockOSThread()
	zeros := make([]byte, Block)
	next := offsets(size)
	for {
		at := next()
		if wrote, err := f.WriteAt(zeros, at); err != nil {
			return fmt.Errorf("short write ret %d cur %d: %w", wrote, at, err)
		}
		n.Add(1)
	}
}
