package pipeline

import "slices"

// laterKey says of a key that belongs to plans, but not yet to this version,
// what to do without it; "" for a key that nobody knows. It is asked only
// after the types of the plan were, so a key that has arrived needs no change
// here.
func laterKey(n *node) string {
	for _, l := range []struct{ path, instead string }{
		{"compare", "the arms are what is compared"},
		{"conditions.clients", "workloads run in one guest"},
	} {
		if matches(n, l.path) {
			return l.instead
		}
	}
	return ""
}

// matches compares the place of n with a pattern in which "*" stands for any
// one key.
func matches(n *node, pattern string) bool {
	return slices.EqualFunc(n.path(), splitPath(pattern), func(key, want string) bool {
		return want == "*" || key == want
	})
}
