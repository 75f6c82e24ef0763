package kconfig

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// expr is a condition of Kconfig's language
// (Documentation/kbuild/kconfig-language.rst).
type expr struct {
	op   string // "sym", "!", "&&", "||", or a comparison
	a, b *expr  // operands; of a comparison both are "sym"
	name string // of "sym"; quoted texts keep their quotes
}

// parseExpr reads a condition. The rest, such as a comment, must be empty.
func parseExpr(text string) (*expr, error) {
	p := parser{tokens: tokens(text)}
	e, err := p.or()
	if err == nil && p.at < len(p.tokens) {
		err = fmt.Errorf("%q stands behind the condition", p.tokens[p.at])
	}
	return e, err
}

// tokens cuts a line into words, texts and operators. A macro $(...) is one
// word, with whatever is in it.
func tokens(s string) []string {
	var out []string
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '\t':
			i++
		case c == '#':
			return out
		case c == '"' || c == '\'':
			end := i + 1
			for end < len(s) && s[end] != c {
				if s[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(s))
			out = append(out, s[i:end])
			i = end
		case strings.HasPrefix(s[i:], "&&"), strings.HasPrefix(s[i:], "||"), strings.HasPrefix(s[i:], "!="),
			strings.HasPrefix(s[i:], "<="), strings.HasPrefix(s[i:], ">="):
			out = append(out, s[i:i+2])
			i += 2
		case strings.ContainsRune("!()=<>", rune(c)):
			out = append(out, s[i:i+1])
			i++
		default:
			end, depth := i, 0
			for ; end < len(s); end++ {
				if strings.HasPrefix(s[end:], "$(") {
					depth++
					end++
				} else if depth > 0 && s[end] == '(' {
					depth++
				} else if depth > 0 && s[end] == ')' {
					depth--
				} else if depth == 0 && strings.ContainsRune(" \t!()=<>&|\"'#", rune(s[end])) {
					break
				}
			}
			if end == i { // a lone & or |
				end++
			}
			out = append(out, s[i:end])
			i = end
		}
	}
	return out
}

type parser struct {
	tokens []string
	at     int
	depth  int
}

func (p *parser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *parser) or() (*expr, error) {
	a, err := p.and()
	for err == nil && p.peek() == "||" {
		p.at++
		var b *expr
		b, err = p.and()
		a = &expr{op: "||", a: a, b: b}
	}
	return a, err
}

func (p *parser) and() (*expr, error) {
	a, err := p.not()
	for err == nil && p.peek() == "&&" {
		p.at++
		var b *expr
		b, err = p.not()
		a = &expr{op: "&&", a: a, b: b}
	}
	return a, err
}

func (p *parser) not() (*expr, error) {
	if p.depth++; p.depth > 1000 {
		return nil, errors.New("the condition is nested too deep")
	}
	defer func() { p.depth-- }()
	switch t := p.peek(); t {
	case "":
		return nil, errors.New("the condition ends too early")
	case "!":
		p.at++
		a, err := p.not()
		return &expr{op: "!", a: a}, err
	case "(":
		p.at++
		e, err := p.or()
		if err == nil && p.peek() != ")" {
			err = errors.New("a parenthesis is not closed")
		}
		p.at++
		return e, err
	case ")", "&&", "||", "=", "!=", "<", ">", "<=", ">=", "&", "|":
		return nil, fmt.Errorf("%q where a symbol must be", t)
	default:
		p.at++
		left := &expr{op: "sym", name: t}
		switch op := p.peek(); op {
		case "=", "!=", "<", ">", "<=", ">=":
			p.at++
			right := p.peek()
			if right == "" || strings.Contains("()!&&||", right) {
				return nil, fmt.Errorf("nothing to compare %s with", t)
			}
			p.at++
			return &expr{op: op, a: left, b: &expr{op: "sym", name: right}}, nil
		}
		return left, nil
	}
}

// The three values.
const (
	no = iota
	mod
	yes
)

// text gives what a symbol or constant is as text.
func (e *expr) text(c Config) string {
	if n := len(e.name); n >= 2 && (e.name[0] == '"' || e.name[0] == '\'') {
		return e.name[1 : n-1]
	}
	if v, ok := c["CONFIG_"+e.name]; ok {
		return v
	}
	if e.name == "y" || e.name == "m" || e.name == "n" || strings.Trim(e.name, "0123456789") == "" || strings.HasPrefix(e.name, "0x") {
		return e.name
	}
	return ""
}

// eval gives the value of a condition. What is computed by a macro counts as y.
func (e *expr) eval(c Config) int {
	switch e.op {
	case "sym":
		if strings.Contains(e.name, "$") {
			return yes
		}
		switch e.text(c) {
		case "y":
			return yes
		case "m":
			return mod
		}
		return no
	case "!":
		return yes - e.a.eval(c)
	case "&&":
		return min(e.a.eval(c), e.b.eval(c))
	case "||":
		return max(e.a.eval(c), e.b.eval(c))
	}
	if strings.Contains(e.a.name+e.b.name, "$") {
		return yes
	}
	a, b := e.a.text(c), e.b.text(c)
	x, errA := strconv.ParseInt(a, 0, 64)
	y, errB := strconv.ParseInt(b, 0, 64)
	order := strings.Compare(a, b)
	if errA == nil && errB == nil {
		order = int(max(-1, min(1, x-y)))
	} else if a == "" || b == "" { // n and unset are the same
		if (a == "" && b == "n") || (a == "n" && b == "") {
			order = 0
		}
	}
	met := map[string]bool{"=": order == 0, "!=": order != 0, "<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0}[e.op]
	if met {
		return yes
	}
	return no
}

// String writes the condition as in a Kconfig file.
func (e *expr) String() string {
	switch e.op {
	case "sym":
		return e.name
	case "!":
		if e.a.op == "sym" {
			return "!" + e.a.String()
		}
		return "!(" + e.a.String() + ")"
	case "&&", "||":
		side := func(x *expr) string {
			if (x.op == "&&" || x.op == "||") && x.op != e.op {
				return "(" + x.String() + ")"
			}
			return x.String()
		}
		return side(e.a) + " " + e.op + " " + side(e.b)
	}
	return e.a.String() + e.op + e.b.String()
}

// unmet gives the parts of a condition, joined by &&, that have less than the
// value wanted.
func (e *expr) unmet(c Config, want int) []*expr {
	if e.op == "&&" {
		return append(e.a.unmet(c, want), e.b.unmet(c, want)...)
	}
	if e.eval(c) >= want {
		return nil
	}
	return []*expr{e}
}

// symbols gives the names in a condition, each once.
func (e *expr) symbols(seen map[string]bool) []string {
	if e == nil {
		return nil
	}
	if e.op == "sym" {
		if seen[e.name] || strings.ContainsAny(e.name, `"'$`) || e.name == "y" || e.name == "m" || e.name == "n" || strings.Trim(e.name, "0123456789") == "" {
			return nil
		}
		seen[e.name] = true
		return []string{e.name}
	}
	return append(e.a.symbols(seen), e.b.symbols(seen)...)
}
