package pipe

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"spindle/workloads/latency"
)

// block is one piece of the file on its way.
type block struct {
	buf  []byte
	at   int64
	took time.Duration // of its read
	err  error
	read chan struct{} // closed when it has been read
}

// pump reads f to the end and writes it to w.
//
// The main loop hands each block to the resident reader or, if that is busy, to
// one more thread; then it waits until the block is there or the wait is over,
// and goes on to the next. Blocks are written in their order.
type pump struct {
	Options
	ctx  context.Context
	f    io.ReaderAt
	w    io.Writer
	said io.Writer

	mu     sync.Mutex // of the histograms
	reads  *side
	writes *side
	extra  int // reads that needed a thread of their own
}

// side is what is known of the reads, or of the writes.
type side struct {
	name  string // "read"
	plat  latency.Plat
	times *latency.Recorder
	bytes int64
	ended time.Time
}

func newSide(name string, stall time.Duration) *side {
	return &side{name: name, times: latency.NewRecorder(name, stall)}
}

// note counts one operation; what took longer than the wait is printed at once.
func (p *pump) note(s *side, d time.Duration, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	us := uint64(d / time.Microsecond)
	s.plat.Record(us)
	s.times.Record(d)
	s.bytes += int64(n)
	s.ended = time.Now()
	if d > p.Wait {
		s.plat.Over++
		io.WriteString(p.said, s.name+" latency="+utoa(us)+" usec\n")
	}
}

// run moves size bytes.
func (p *pump) run(size int64) error {
	p.reads, p.writes = newSide("read", p.Stall), newSide("write", p.Stall)
	// As many blocks as may wait to be written: the original has no bound,
	// and a file of any size fits in memory nowhere.
	const most = 64 << 20
	queue := make(chan *block, max(16, most/p.Block))
	written := make(chan error, 1)
	failed := make(chan struct{})
	go func() {
		err := p.write(queue)
		if err != nil {
			close(failed)
			for range queue { // let the main loop end
			}
		}
		written <- err
	}()
	resident := make(chan *block, 1)
	var idle atomic.Bool // it takes the next block
	idle.Store(true)
	var readers sync.WaitGroup
	readers.Go(func() {
		runtime.LockOSThread()
		for b := range resident {
			p.read(b)
			idle.Store(true)
			close(b.read)
		}
	})
	timer := time.NewTimer(p.Wait)
	defer timer.Stop()
loop:
	for at := int64(0); at < size && p.ctx.Err() == nil; at += int64(p.Block) {
		b := &block{at: at, buf: make([]byte, min(int64(p.Block), size-at)), read: make(chan struct{})}
		select {
		case queue <- b:
		case <-failed:
			break loop
		}
		if idle.CompareAndSwap(true, false) {
			resident <- b
		} else {
			p.extra++
			readers.Go(func() {
				p.read(b)
				close(b.read)
			})
		}
		timer.Reset(p.Wait)
		select {
		case <-b.read:
		case <-timer.C:
		}
	}
	close(resident)
	readers.Wait()
	close(queue)
	return <-written
}

func (p *pump) read(b *block) {
	start := time.Now()
	n, err := p.f.ReadAt(b.buf, b.at)
	b.took = time.Since(start)
	if err != nil && !(errors.Is(err, io.EOF) && n == len(b.buf)) {
		b.err = err
	} else {
		p.note(p.reads, b.took, n)
	}
}

// write writes the blocks in their order.
func (p *pump) write(queue <-chan *block) error {
	runtime.LockOSThread()
	for b := range queue {
		<-b.read
		if b.err != nil {
			return b.err
		}
		start := time.Now()
		if _, err := p.w.Write(b.buf); err != nil {
			return err
		}
		p.note(p.writes, time.Since(start), len(b.buf))
	}
	return nil
}

// fileSize is how much there is to read.
func fileSize(f *os.File) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
