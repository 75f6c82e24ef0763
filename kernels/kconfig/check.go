package kconfig

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is a symbol that did not become what was asked.
type Problem struct {
	Ask
	Got    string // what it is: y, m, n or a text
	Absent bool   // the tree has no such symbol
	Why    string // the dependency that is not met, as far as it can be told
}

// String gives "CONFIG_F2FS_FS=y (guest): is n: wants BLOCK, which is n".
func (p Problem) String() string {
	asked := p.Symbol + "=" + p.Value
	if p.Absent {
		return fmt.Sprintf("%s (%s): this kernel has no such symbol", asked, p.From)
	}
	s := fmt.Sprintf("%s (%s): it is %s", asked, p.From, value(p.Got))
	if p.Why != "" {
		s += ": " + p.Why
	}
	return s
}

// Check holds a configuration that Kconfig made against what was asked, in the
// order of asks. A symbol that was asked to be off, and is unknown, is off.
func Check(t *Tree, c Config, asks []Ask) []Problem {
	var out []Problem
	for _, a := range asks {
		got, set := c[a.Symbol]
		switch {
		case got == a.Value, a.Value == "n" && !set:
			continue
		case a.Value == "n" && got == "0":
			continue // a switch that was a number in older kernels: BASE_SMALL
		case a.Value == "" && !set:
			continue // a text that is nowhere is empty
		case a.Value == "m" && got == "y" && c["CONFIG_MODULES"] != "y":
			continue // without modules there is only built in
		}
		p := Problem{Ask: a, Got: got, Absent: !t.Defined(a.Symbol)}
		if !p.Absent {
			p.Why = t.why(strings.TrimPrefix(a.Symbol, "CONFIG_"), a.Value, c)
		}
		out = append(out, p)
	}
	return out
}

func value(v string) string {
	if v == "" {
		return "n"
	}
	return v
}

// why says what keeps a symbol from a value.
func (t *Tree) why(symbol, want string, c Config) string {
	if want == "n" {
		if by := t.on(t.selected[symbol], c); len(by) > 0 {
			return "it is selected by " + list(by)
		}
		return ""
	}
	level := yes
	if want == "m" {
		level = mod
	}
	var reasons []string
	for _, d := range t.symbols[symbol] {
		var unmet []string
		for _, dep := range d.deps {
			for _, e := range dep.unmet(c, level) {
				if text := told(e, c); !slices.Contains(unmet, text) {
					unmet = append(unmet, text)
				}
			}
		}
		if len(unmet) == 0 && d.asked != nil && d.asked.eval(c) == no {
			unmet = append(unmet, told(d.asked, c))
		}
		switch {
		case len(unmet) > 0:
			reasons = append(reasons, "it depends on "+strings.Join(unmet, " and on "))
		case !d.prompt:
			by := t.selected[symbol]
			if len(by) == 0 {
				reasons = append(reasons, "nobody can set it: it follows from others")
			} else {
				reasons = append(reasons, "nobody can set it: it is selected by "+list(by))
			}
		case d.choice > 0:
			if other := t.chosen(symbol, d.choice, c); other != "" {
				reasons = append(reasons, "of its choice "+other+" was taken")
			}
		}
	}
	slices.Sort(reasons)
	return strings.Join(slices.Compact(reasons), "; or ")
}

// told writes an unmet condition with the values of its symbols.
func told(e *expr, c Config) string {
	var now []string
	for _, name := range e.symbols(map[string]bool{}) {
		now = append(now, name+" is "+value(c["CONFIG_"+name]))
	}
	if len(now) == 0 {
		return e.String()
	}
	if e.op == "sym" {
		return e.name + ", which is " + value(c["CONFIG_"+e.name])
	}
	return e.String() + " (" + strings.Join(now, ", ") + ")"
}

// chosen finds which symbol of a choice is set.
func (t *Tree) chosen(symbol string, choice int, c Config) string {
	for name, defs := range t.symbols {
		for _, d := range defs {
			if name != symbol && d.choice == choice && c.Has(name) {
				return name
			}
		}
	}
	return ""
}

func (t *Tree) on(symbols []string, c Config) []string {
	return slices.DeleteFunc(slices.Clone(symbols), func(s string) bool { return !c.Has(s) })
}

// list names a few.
func list(names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) > 4 {
		return strings.Join(names[:4], ", ") + fmt.Sprintf(" and %d more", len(names)-4)
	}
	return strings.Join(names, ", ")
}
