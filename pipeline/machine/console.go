package machine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// longestLine is how much of a line is looked at. All of it is in the log.
	longestLine = 4 << 10
	// longestLog is how much of a console is kept: that of a boot has 25 KB, and
	// a guest that prints for hours must not fill the host's disk.
	longestLog = 64 << 20
)

// console writes what the guest's serial port says to a file as it comes and
// looks at it line by line. Carriage returns, which a serial console has before
// each line feed, are left out.
type console struct {
	file *os.File
	most int64     // bytes of the file
	live io.Writer // or nil
	see  func(n int, line string)

	mu   sync.Mutex
	grew time.Time // when it said something last
	line int       // lines so far
	err  error     // why the file is incomplete

	kept int64  // bytes in the file
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
	c.grew = time.Now()
	c.mu.Unlock()
	c.keep(text)
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

func (c *console) keep(text []byte) {
	_, _, err := c.state()
	switch {
	case err != nil, c.kept >= c.most:
		return
	case c.kept+int64(len(text)) >= c.most:
		text = append(text[:c.most-c.kept:c.most-c.kept], "\n[the log ends here, the console went on]\n"...)
		c.kept = c.most
	}
	c.kept += int64(len(text))
	if _, err := c.file.Write(text); err != nil {
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
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

// state gives how many lines the console has said, when it said something
// last, and why the log is incomplete, if it is.
func (c *console) state() (lines int, grew time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line, c.grew, c.err
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
