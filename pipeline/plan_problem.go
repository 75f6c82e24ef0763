package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Problem is one thing that is wrong with a plan, and where.
type Problem struct {
	File    string
	Line    int    // counted from 1
	Column  int    // counted from 1, in characters
	Width   int    // characters the problem covers, at least 1
	Source  string // the line of the file, without its end
	Message string // lower case, one line
}

// Error gives the place, the message, and the line with a caret below it, as
// compilers do:
//
//	plan.yaml:9:15: unknown filesystem "ext5": did you mean ext4?
//	    9 |   filesystem: [ext5, xfs]
//	      |                ^~~~
func (p Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s\n", p.File, p.Line, p.Column, p.Message)
	line, caret := underline(p.Source, p.Column, p.Width)
	gutter := fmt.Sprintf("%5d", p.Line)
	fmt.Fprintf(&b, "%s | %s\n", gutter, line)
	fmt.Fprintf(&b, "%s | %s", strings.Repeat(" ", len(gutter)), caret)
	return b.String()
}

// Problems is everything that was found wrong with a plan, in the order of
// the file.
type Problems []Problem

// problemsShown bounds what is printed at once: a file that is not a plan at
// all should not scroll the first and telling line away.
const problemsShown = 20

// Error joins the problems, the first [problemsShown] of them.
func (ps Problems) Error() string {
	var parts []string
	for i, p := range ps {
		if i == problemsShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(ps)-i))
			break
		}
		parts = append(parts, p.Error())
	}
	return strings.Join(parts, "\n")
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// Lines longer than this are shown as a window around the caret.
const (
	sourceWidth  = 100
	sourceBefore = 60 // characters kept left of the caret then
)

// underline gives the source line as it may be printed, and the line with
// the caret that goes below it. Tabs stay tabs in both, so the caret is under
// its character however wide the terminal sets them. Anything that a terminal
// would act on or not show becomes a question mark.
func underline(source string, column, covers int) (line, caret string) {
	runes := []rune(source)
	at := min(max(column-1, 0), len(runes))
	end := min(at+max(covers, 1), max(len(runes), at+1))
	var lead string
	if len(runes) > sourceWidth {
		from := max(0, at-sourceBefore)
		to := min(len(runes), from+sourceWidth)
		if from > 0 {
			lead = "... "
		}
		runes = runes[from:to]
		at -= from
		end = min(end-from, max(len(runes), at+1))
	}
	var l, c strings.Builder
	l.WriteString(lead)
	c.WriteString(strings.Repeat(" ", len(lead)))
	for i, r := range runes {
		if r == '\t' {
			l.WriteByte('\t')
		} else {
			l.WriteRune(printable(r))
		}
		switch {
		case i >= at:
		case r == '\t':
			c.WriteByte('\t')
		case isWide(r):
			c.WriteString("  ")
		default:
			c.WriteByte(' ')
		}
	}
	c.WriteByte('^')
	c.WriteString(strings.Repeat("~", end-at-1))
	return strings.TrimRight(l.String(), " \t"), c.String()
}

// isWide says whether terminals give a character two columns (Unicode's
// UAX #11).
func isWide(r rune) bool {
	k := width.LookupRune(r).Kind()
	return k == width.EastAsianWide || k == width.EastAsianFullwidth
}

// quote shows a word of the plan in a message: quoted, on one line, and cut
// when it is long.
func quote(word string) string { return strconv.Quote(clip(word)) }

// clip cuts a long word.
func clip(word string) string {
	const most = 60
	if utf8.RuneCountInString(word) > most {
		return string([]rune(word)[:most]) + "..."
	}
	return word
}
