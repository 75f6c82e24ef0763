package pipeline

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// source is a plan file as text, and the problems found in it.
type source struct {
	file     string
	lines    []string
	problems Problems
}

// at reports a problem at a place. Places off the text are moved onto it.
func (s *source) at(line, column, width int, message string) {
	line = min(max(line, 1), len(s.lines))
	text := s.lines[line-1]
	column = min(max(column, 1), utf8.RuneCountInString(text)+1)
	s.problems = append(s.problems, Problem{
		File: s.file, Line: line, Column: column, Width: max(width, 1), Source: text,
		Message: strings.Map(printable, strings.Join(strings.Fields(message), " ")),
	})
}

// printable replaces what a terminal would act on.
func printable(r rune) rune {
	if unicode.IsPrint(r) && r != utf8.RuneError {
		return r
	}
	return '?'
}

// value reports a problem with a value, at the value.
func (s *source) value(n *node, format string, args ...any) {
	n.wrong = true
	s.at(n.line, n.column, n.width, fmt.Sprintf(format, args...))
}

// entry reports a problem with an entry as a whole, at its key; for an
// element of a list that is its value, for the whole plan the first line.
func (s *source) entry(n *node, format string, args ...any) {
	n.wrong = true
	at := n
	if n.key != nil {
		at = n.key
	}
	s.at(at.line, at.column, at.width, fmt.Sprintf(format, args...))
}

// firstIn says where the first of two alike is, if that is not in plain sight.
func firstIn(line, here int) string {
	if line == here {
		return ""
	}
	return fmt.Sprintf(": the first is in line %d", line)
}
