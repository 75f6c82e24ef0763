package kconfig

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed fragments/*.config
var files embed.FS

// Fixed is the fragment that every build ends with.
const Fixed = "fixed"

// Names lists the fragments that come with spindle, sorted.
func Names() []string {
	entries, err := files.ReadDir("fragments")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	var names []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".config"); name != Fixed {
			names = append(names, name)
		}
	}
	return names
}

// Default gives the fragments for guests of any plan, on an architecture.
func Default(arch string) []string {
	if arch == "um" {
		return []string{"uml", "filesystems", "schedulers", "raid", "cgroup", "trace", "debug-off"}
	}
	return []string{"guest", "filesystems", "schedulers", "drives", "raid", "cgroup", "trace", "debug-off"}
}

// Fragment gives the text of one that comes with spindle.
func Fragment(name string) (string, error) {
	text, err := files.ReadFile(path.Join("fragments", name+".config"))
	if err != nil {
		return "", fmt.Errorf("fragment %q is not known; there are %s, and files are written with a slash (./%s)", name, strings.Join(Names(), ", "), name)
	}
	return string(text), nil
}

// Ask is one symbol that a fragment sets.
type Ask struct {
	Symbol string // with CONFIG_
	Value  string // y, m, n, or a text or number
	Reason string // the comment above; "" if there is none
	From   string // the fragment
}

// Asks reads a fragment. A comment stands for the symbols below it, up to the
// next comment or empty line.
func Asks(from, text string) ([]Ask, error) {
	var asks []Ask
	var reason []string
	fresh := false // the comment has no symbol yet
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, " \t\r\n")
		c, err := Parse(strings.NewReader(line))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: want CONFIG_NAME=VALUE, not %.80q", from, n, line)
		}
		for symbol, value := range c {
			asks = append(asks, Ask{symbol, value, strings.Join(reason, " "), from})
			fresh = false
		}
		switch comment, is := strings.CutPrefix(line, "#"); {
		case len(c) > 0:
		case line == "":
			reason, fresh = nil, false
		case is && fresh:
			reason = append(reason, strings.TrimSpace(comment))
		case is:
			reason, fresh = []string{strings.TrimSpace(comment)}, true
		}
	}
	return asks, nil
}

// Merge gives the asks of many fragments as one, in which the last about a
// symbol wins, sorted by symbol.
func Merge(lists ...[]Ask) []Ask {
	last := map[string]Ask{}
	for _, list := range lists {
		for _, a := range list {
			last[a.Symbol] = a
		}
	}
	var out []Ask
	for _, a := range last {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b Ask) int { return strings.Compare(a.Symbol, b.Symbol) })
	return out
}

// Text writes asks as Kconfig reads them.
func Text(asks []Ask) string {
	var b strings.Builder
	for _, a := range asks {
		switch {
		case a.Value == "n":
			fmt.Fprintf(&b, "# %s is not set\n", a.Symbol)
		case plainValue(a.Value):
			fmt.Fprintf(&b, "%s=%s\n", a.Symbol, a.Value)
		default:
			quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a.Value)
			fmt.Fprintf(&b, "%s=\"%s\"\n", a.Symbol, quoted)
		}
	}
	return b.String()
}

// plainValue tells y, m and numbers from texts, which Kconfig wants in quotes.
func plainValue(v string) bool {
	if v == "y" || v == "m" {
		return true
	}
	return v != "" && strings.Trim(v, "0123456789") == "" ||
		strings.HasPrefix(v, "0x") && strings.Trim(v[2:], "0123456789abcdefABCDEF") == "" ||
		strings.HasPrefix(v, "-") && len(v) > 1 && strings.Trim(v[1:], "0123456789") == ""
}
