package proc

import (
	"io"
	"strings"
	"sync"
)

// tailBytes is how much of a program's output an error keeps.
const tailBytes = 16 << 10

// tail passes what is written on to w, and remembers the end of it.
type tail struct {
	w io.Writer // nil: nowhere

	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.end = append(t.end, p...)
	if len(t.end) > 2*tailBytes {
		t.end = append([]byte(nil), t.end[len(t.end)-tailBytes:]...)
	}
	t.mu.Unlock()
	if t.w == nil {
		return len(p), nil
	}
	return t.w.Write(p)
}

func (t *tail) String() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end[max(0, len(t.end)-tailBytes):])
}

// lastLines gives the last n lines that are not blank, without control
// characters: terminals must not obey a program's error message.
func lastLines(s string, n int) []string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	var out []string
	for i := len(lines) - 1; i >= 0 && len(out) < n; i-- {
		line := strings.TrimSpace(strings.Map(func(r rune) rune {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				return ' '
			}
			return r
		}, lines[i]))
		if line != "" {
			out = append([]string{line}, out...)
		}
	}
	return out
}
