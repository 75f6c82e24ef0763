package pipeline

import "slices"

// kind is the shape of a node.
type kind int

const (
	scalar kind = iota
	mapping
	sequence
)

func (k kind) String() string {
	return [...]string{"a value", "a mapping", "a list"}[k]
}

// node is one value of a plan file with its place. It is the YAML syntax tree
// with everything taken off that plans do not use. All methods may be called
// on nil, which is what looking for something absent gives.
type node struct {
	kind         kind
	line, column int // counted from 1; column in characters
	width        int // characters on its first line
	text         string
	plain        bool // a scalar without quotes
	null         bool // nothing there, or null
	key          *node
	parent       *node
	fields       []*node // of a mapping, in the order of the file
	items        []*node // of a sequence
	wrong        bool    // a problem was reported here
}

// get finds a mapping's value by its keys, one below the other.
func (n *node) get(keys ...string) *node {
	for _, k := range keys {
		if n == nil {
			return nil
		}
		i := slices.IndexFunc(n.fields, func(f *node) bool { return f.key.text == k })
		if i < 0 {
			return nil
		}
		n = n.fields[i]
	}
	return n
}

// item gives the i-th element of a sequence.
func (n *node) item(i int) *node {
	if n == nil || i >= len(n.items) {
		return nil
	}
	return n.items[i]
}

// path gives the keys from the root to n; an element of a list is "[]".
func (n *node) path() []string {
	var p []string
	for ; n != nil && n.parent != nil; n = n.parent {
		if n.key != nil {
			p = append(p, n.key.text)
		} else {
			p = append(p, "[]")
		}
	}
	slices.Reverse(p)
	return p
}

// broken says whether a problem was reported at n, above it or below it.
// Whoever looks for what else is wrong leaves such nodes alone: what follows
// from the first mistake is not news.
func (n *node) broken() bool {
	for up := n; up != nil; up = up.parent {
		if up.wrong {
			return true
		}
	}
	return n != nil && n.brokenBelow()
}

func (n *node) brokenBelow() bool {
	return n.wrong || slices.ContainsFunc(n.fields, (*node).brokenBelow) || slices.ContainsFunc(n.items, (*node).brokenBelow)
}

// name is how messages call n: its key, or that of the list it stands in.
func (n *node) name() string {
	switch {
	case n.key != nil && n.key.text != "":
		return clip(n.key.text)
	case n.parent != nil:
		return "an entry of " + n.parent.name()
	}
	return "the plan"
}
