package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes one line of foreign text: what is no printable character
// becomes '?', white space becomes one space, and what would be taken for
// HTML, code or a link is escaped.
func Clean(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case space:
			b.WriteByte(' ')
			space = false
		}
		switch {
		case r == utf8.RuneError || !unicode.IsPrint(r):
			b.WriteByte('?')
		case r == '<' || r == '`' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '(' && strings.HasSuffix(b.String(), "]"):
			b.WriteString("\\(")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Cut shortens s to n columns, with ".." for what is left out.
func Cut(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	if n <= 2 {
		return strings.Repeat(".", max(n, 0))
	}
	r := []rune(s)[:n-2]
	// A half escape would escape what follows.
	return strings.TrimRight(string(r), "\\ "+NBSP) + ".."
}

func columns(s string) int { return utf8.RuneCountInString(s) }
