package text

import (
	"regexp"
	"strings"
)

// Wrap breaks s at its spaces into lines of [Width] columns; see [WrapTo].
func Wrap(s, first, rest string) string { return WrapTo(Width, s, first, rest) }

// WrapTo breaks s at its spaces into lines of so many columns. The first line
// begins with first, the others with rest. A word that does not fit on a line
// by itself is broken, at one of "/_-,=" where there is one. It ends with a
// newline.
func WrapTo(width int, s, first, rest string) string {
	var out strings.Builder
	line, prefix, empty := first, first, true
	flush := func() {
		out.WriteString(strings.TrimRight(strings.ReplaceAll(line, NBSP, " "), " ") + "\n")
		line, prefix, empty = rest, rest, true
	}
	for _, word := range glue(words(s)) {
		if !empty && columns(line)+1+columns(word) > width {
			flush()
		}
		if !empty {
			line += " "
		}
		for columns(line)+columns(word) > width {
			head, tail := split(word, width-columns(prefix))
			line += head
			word = tail
			flush()
		}
		line += word
		empty = false
	}
	flush()
	return out.String()
}

// marker is a word that means something else to Markdown when it begins a
// line: a list, a heading, a quotation, a rule.
var marker = regexp.MustCompile(`^([-+*]|#+|>.*|\d{1,9}[.)]|=+|-+)$`)

// words splits at spaces and line ends, but not at NBSP as strings.Fields
// would.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' })
}

// glue binds words that must not begin a line to the one before.
func glue(words []string) []string {
	var out []string
	for _, w := range words {
		if len(out) > 0 && marker.MatchString(w) {
			out[len(out)-1] += NBSP + w
			continue
		}
		out = append(out, w)
	}
	return out
}

// split breaks a word that is longer than n columns.
func split(word string, n int) (head, tail string) {
	r := []rune(word)
	n = max(n, 1)
	if len(r) <= n {
		return word, ""
	}
	for i := n; i > n/2; i-- {
		if strings.ContainsRune("/_-,="+NBSP, r[i-1]) {
			return string(r[:i]), string(r[i:])
		}
	}
	return string(r[:n]), string(r[n:])
}
