// Package progress talks to the person who waits, on standard error.
//
// On a terminal the last line is a status line that is drawn over again.
// Elsewhere (a CI log, a file) a status is an ordinary line and comes at most
// every ten seconds, so that a log of an overnight run stays readable.
//
// A Log is safe for many goroutines, and a nil *Log is silent. Write errors are
// ignored: nobody is there to be told. Control characters in what is printed
// are replaced, since names and messages may come from a guest.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// every is how often a status becomes a line where there is no terminal.
const every = 10 * time.Second

// Log writes lines and one status.
type Log struct {
	mu     sync.Mutex
	w      io.Writer
	tty    bool
	now    func() time.Time
	last   time.Time // of the last status line off a terminal
	status string    // what stands on the terminal's last line
}

// New makes a Log that writes to w. With tty set, w is a terminal that knows
// ANSI escapes. The clock decides how often a status line is due off a
// terminal; it is time.Now except in tests.
func New(w io.Writer, tty bool, now func() time.Time) *Log {
	return &Log{w: w, tty: tty, now: now}
}

// Printf writes a line. A newline at its end is added where it is missing.
func (l *Log) Printf(format string, args ...any) {
	if l == nil {
		return
	}
	text := strings.TrimRight(clean(fmt.Sprintf(format, args...), "\n\t"), "\n") + "\n"
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tty && l.status != "" {
		text = erase + text + l.fit(l.status)
	}
	io.WriteString(l.w, text)
}

// Status says how far things are: "[3/12] what, 42m left". The counter is left
// out if total is zero or less, the remaining time if left is.
func (l *Log) Status(done, total int, left time.Duration, format string, args ...any) {
	if l == nil {
		return
	}
	text := clean(fmt.Sprintf(format, args...), "")
	if total > 0 {
		text = fmt.Sprintf("[%d/%d] %s", done, total, text)
	}
	if left > 0 {
		text += ", " + About(left) + " left"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tty {
		if text != l.status {
			l.status = text
			io.WriteString(l.w, erase+l.fit(text))
		}
		return
	}
	if t := l.now(); l.last.IsZero() || t.Sub(l.last) >= every {
		l.last = t
		io.WriteString(l.w, text+"\n")
	}
}

// Clear takes the status line away, for example before the program ends or
// writes its product to the same terminal.
func (l *Log) Clear() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tty && l.status != "" {
		l.status = ""
		io.WriteString(l.w, erase)
	}
}

// erase returns to the first column and clears the line.
const erase = "\r\x1b[K"

// fit cuts a status to the terminal's width: a line that wraps could not be
// erased again. The width is asked each time, since windows change.
func (l *Log) fit(s string) string {
	width := 80
	if f, ok := l.w.(interface{ Fd() uintptr }); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			width = w
		}
	}
	// One column stays free: some terminals wrap when the last one is written.
	if utf8.RuneCountInString(s) < width {
		return s
	}
	runes := []rune(s)
	return string(runes[:max(0, width-4)]) + "..."
}

// clean replaces control characters except the ones named in keep.
func clean(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if (r < ' ' || r >= 0x7f && r < 0xa0) && !strings.ContainsRune(keep, r) {
			return ' '
		}
		return r
	}, s)
}

// About rounds a duration to what a waiting person wants to know: "2h05m",
// "42m", "50s".
func About(d time.Duration) string {
	switch {
	case d.Round(time.Minute) >= time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= 100*time.Second:
		return fmt.Sprintf("%dm", d.Round(time.Minute)/time.Minute)
	}
	return fmt.Sprintf("%ds", d.Round(time.Second)/time.Second)
}
