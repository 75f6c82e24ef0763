package machine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"spindle/internal/fault"
)

// Said is what a console log says of a machine that is gone.
type Said struct {
	Lines     int
	Findings  []Finding
	Fatal     string // the guest's init gave up: why; "" if it did not
	FatalLine int
}

// First gives the first finding of a kind.
func (s Said) First(r Reason) (Finding, bool) {
	for _, f := range s.Findings {
		if f.Reason == r {
			return f, true
		}
	}
	return Finding{}, false
}

// Scan reads a whole console log.
func Scan(path string) (Said, error) {
	f, err := os.Open(path)
	if err != nil {
		return Said{}, fmt.Errorf("read console log: %w", err)
	}
	defer f.Close()
	var s Said
	kept := map[Reason]int{}
	r := bufio.NewReaderSize(f, longestLine)
	for {
		b, err := r.ReadSlice('\n')
		line := strings.TrimRight(string(b), "\r\n")
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = r.ReadSlice('\n')
		}
		if len(b) > 0 {
			s.Lines++
			text := unstamped(line)
			if strings.HasPrefix(text, saysFatal) && s.Fatal == "" {
				s.Fatal, s.FatalLine = strings.TrimPrefix(text, saysFatal), s.Lines
			}
			if reason, ok := find(text); ok {
				if kept[reason]++; kept[reason] <= mostFindings {
					s.Findings = append(s.Findings, Finding{reason, s.Lines, clip(text)})
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return s, nil
		case err != nil:
			return s, fmt.Errorf("read console log: %w", err)
		}
	}
}

// End makes the Ending of a machine whose console log is at path.
func End(reason Reason, detail string, line int, hint string, path string, said Said) Ending {
	e := Ending{Reason: reason, Kind: kindOf(reason), Detail: detail, Line: line, Hint: hint, Findings: said.Findings}
	if reason != Stopped {
		e.Tail = excerpt(path, line)
	}
	return e
}

// Kind says whose fault an end for that reason is.
func (r Reason) Kind() fault.Kind { return kindOf(r) }
