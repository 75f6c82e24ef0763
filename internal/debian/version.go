package debian

import (
	"cmp"
	"strings"
)

// Compare orders two versions as dpkg does: -1, 0 or +1. See "Version" in the
// Debian Policy Manual, 5.6.12: a number before a colon, then the upstream
// version, then the Debian revision behind the last dash.
func Compare(a, b string) int {
	ea, ua, ra := splitVersion(a)
	eb, ub, rb := splitVersion(b)
	return cmp.Or(compareNumbers(ea, eb), comparePart(ua, ub), comparePart(ra, rb))
}

func splitVersion(v string) (epoch, upstream, revision string) {
	if before, after, ok := strings.Cut(v, ":"); ok {
		epoch, v = before, after
	}
	if i := strings.LastIndexByte(v, '-'); i >= 0 {
		v, revision = v[:i], v[i+1:]
	}
	return epoch, v, revision
}

// comparePart compares runs of other characters and runs of digits in turn.
func comparePart(a, b string) int {
	for a != "" || b != "" {
		for a != "" && !digit(a[0]) || b != "" && !digit(b[0]) {
			if c := cmp.Compare(weight(a), weight(b)); c != 0 {
				return c
			}
			a, b = a[1:], b[1:] // equal weights other than 0, so neither is empty
		}
		na, nb := digits(a), digits(b)
		if c := compareNumbers(a[:na], b[:nb]); c != 0 {
			return c
		}
		a, b = a[na:], b[nb:]
	}
	return 0
}

// weight orders the first characters: a tilde before the end, then letters,
// then all others.
func weight(s string) int {
	switch {
	case s == "" || digit(s[0]):
		return 0
	case s[0] == '~':
		return -1
	case 'A' <= s[0] && s[0] <= 'Z' || 'a' <= s[0] && s[0] <= 'z':
		return int(s[0])
	}
	return int(s[0]) + 256
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func digits(s string) int {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	return n
}

// compareNumbers compares decimal numbers of any length; "" is zero.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
