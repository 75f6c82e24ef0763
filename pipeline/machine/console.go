package machine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// longestLine is how much of a line is looked at. All of it is in the log.
const longestLine = 4 << 10

// console writes what the guest's serial port says to a file as it comes and
// looks at it line by line. Carriage returns, which a serial console has before
// each line feed, are left out.
type console struct {
	file *os.File
	live io.Writer // or nil
	see  func(n int, line string)

	mu    sync.Mutex
	bytes int64
	grew  time.Time
	line  int // complete lines so far
	err   error

	part []byte // of the line under way
}

// drain reads until the end. It goes on when the file cannot be written any
// more: a console that nobody reads stops the guest.
func (c *console) drain(r io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			c.take(buf[:n])
		}
		if err != nil { // the end, or a reset: QEMU is gone
			break
		}
	}
	if len(c.part) > 0 {
		c.emit()
	}
}

func (c *console) take(b []byte) {
	text := bytes.ReplaceAll(b, []byte("\r"), nil)
	c.mu.Lock()
	c.bytes += int64(len(b))
	c.grew = time.Now()
	failed := c.err != nil
	c.mu.Unlock()
	if !failed {
		if _, err := c.file.Write(text); err != nil {
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
		}
	}
	if c.live != nil {
		c.live.Write(text)
	}
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		piece := text
		if i >= 0 {
			piece = text[:i]
		}
		if room := longestLine - len(c.part); room > 0 {
			c.part = append(c.part, piece[:min(room, len(piece))]...)
		}
		if i < 0 {
			return
		}
		c.emit()
		text = text[i+1:]
	}
}

func (c *console) emit() {
	c.mu.Lock()
	c.line++
	n := c.line
	c.mu.Unlock()
	c.see(n, string(c.part))
	c.part = c.part[:0]
}

// state gives how much the console said, in bytes and lines, when it said
// something last, and why the log is incomplete, if it is.
func (c *console) state() (size int64, lines int, grew time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes, c.line, c.grew, c.err
}

// relay passes writes on from a goroutine of its own, so that a slow writer, a
// terminal that somebody stopped for example, does not hold up who writes.
// What does not fit into its buffer is left out with a note.
type relay struct {
	to    io.Writer
	parts chan []byte
	ended chan struct{}
	lost  int // bytes left out since the last part that went in
}

func newRelay(to io.Writer) *relay {
	r := &relay{to: to, parts: make(chan []byte, 256), ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		for p := range r.parts {
			if r.to != nil {
				if _, err := r.to.Write(p); err != nil {
					r.to = nil // nobody looks any more
				}
			}
		}
	}()
	return r
}

func (r *relay) Write(p []byte) (int, error) {
	part := bytes.Clone(p)
	if r.lost > 0 {
		part = fmt.Appendf(nil, "\n[%d bytes of console left out here; console.log has them]\n%s", r.lost, p)
	}
	select {
	case r.parts <- part:
		r.lost = 0
	default:
		r.lost += len(p)
	}
	return len(p), nil
}

// close waits until everything was passed on, but no longer than limit.
func (r *relay) close(limit time.Duration) {
	close(r.parts)
	select {
	case <-r.ended:
	case <-time.After(limit):
	}
}
