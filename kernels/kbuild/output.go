package kbuild

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// keptLines bounds how much of a build's output is kept for a diagnosis: all of
// what an ordinary build says, and of one that says more its beginning, where
// the first error is, and its end.
const keptLines = 4000

// output follows what make says. It keeps the lines that are not progress, and
// counts those that are.
type output struct {
	step func(what string) // called for each object

	mu    sync.Mutex
	part  []byte
	done  int
	lines []string
}

// stepLine is what the kernel's Makefiles print for a file they make:
// "  CC [M]  fs/xfs/xfs_inode.o".
var stepLine = regexp.MustCompile(`^  ([A-Z][A-Z0-9_]*)(?: \[[A-Z]\])?\s+(\S+)$`)

// isObject tells lines about one object of the kernel, which are counted, from
// others.
func isObject(line string) (name string, ok bool) {
	m := stepLine.FindStringSubmatch(line)
	if m == nil || m[1] != "CC" && m[1] != "AS" || !strings.HasSuffix(m[2], ".o") || m[2][0] == '/' { // tools are named by their whole path
		return "", false
	}
	return m[2], true
}

// Write takes a piece of output. It is called by one goroutine at a time.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.part = append(o.part, p...)
	for {
		line, rest, ok := bytes.Cut(o.part, []byte("\n"))
		if !ok {
			if len(o.part) > 1<<20 { // no line of a build
				o.part = nil
			}
			return len(p), nil
		}
		o.take(string(line))
		o.part = rest
	}
}

func (o *output) take(line string) {
	if name, ok := isObject(line); ok {
		o.done++
		if o.step != nil {
			o.step(name)
		}
		return
	}
	if stepLine.MatchString(line) {
		return
	}
	if len(o.lines) == keptLines {
		o.lines = append(o.lines[:keptLines/2:keptLines/2], o.lines[keptLines/2+1:]...)
	}
	o.lines = append(o.lines, line)
}

// said gives the lines kept, with the last one where it was not ended.
func (o *output) said() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := o.lines
	if len(o.part) > 0 {
		lines = append(lines[:len(lines):len(lines)], string(o.part))
	}
	return lines
}
