package kconfig

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Tree is what the Kconfig files of a kernel say of its symbols.
type Tree struct {
	symbols  map[string][]def
	selected map[string][]string // symbol -> those that select it
}

// def is one place where a symbol is defined.
type def struct {
	deps   []*expr // all must hold: its own, and those of menus and ifs around it
	prompt bool    // a person can set it
	asked  *expr   // the condition of the prompt; nil is always
	choice int     // number of the choice it is in; 0 for none
}

// Defined says whether the tree has a symbol at all.
func (t *Tree) Defined(symbol string) bool {
	return len(t.symbols[strings.TrimPrefix(symbol, "CONFIG_")]) > 0
}

// maxFiles bounds what is read; 6.12 has about 1,700 Kconfig files.
const maxFiles = 20000

// Read reads the Kconfig files of a kernel's tree. The variables are those that
// the Makefile exports to them: SRCARCH, HEADER_ARCH.
func Read(root fs.FS, vars map[string]string) (*Tree, error) {
	r := reader{root: root, vars: vars, tree: &Tree{map[string][]def{}, map[string][]string{}}}
	if err := r.file("Kconfig", nil); err != nil {
		return nil, fmt.Errorf("read Kconfig files: %w", err)
	}
	return r.tree, nil
}

type reader struct {
	root    fs.FS
	vars    map[string]string
	tree    *Tree
	files   int
	choices int
}

// block is what is open around a line.
type block struct {
	word   string // menu, if, choice
	deps   []*expr
	choice int
}

// file reads one file within the blocks of those that source it.
func (r *reader) file(name string, around []block) error {
	if r.files++; r.files > maxFiles {
		return fmt.Errorf("more than %d files: they include each other", maxFiles)
	}
	text, err := fs.ReadFile(r.root, path.Clean(name))
	if err != nil {
		return err
	}
	stack := append([]block(nil), around...)
	var d *def      // of the entry that is open
	var sym string  // its symbol
	var inMenu bool // the line is a property of the block on top
	help := -1      // indentation of the help text; 0 before it is known
	close := func() {
		if d != nil {
			for _, b := range stack {
				d.deps = append(d.deps, b.deps...)
				d.choice = max(d.choice, b.choice)
			}
			r.tree.symbols[sym] = append(r.tree.symbols[sym], *d)
		}
		d, inMenu = nil, false
	}
	for _, line := range joined(string(text)) {
		indent := indentation(line)
		if help >= 0 {
			if strings.TrimSpace(line) == "" {
				continue
			}
			if help == 0 && indent > 0 {
				help = indent
			}
			if help > 0 && indent >= help {
				continue
			}
			help = -1
		}
		t := tokens(line)
		if len(t) == 0 {
			continue
		}
		rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), t[0]))
		switch t[0] {
		case "config", "menuconfig":
			close()
			if len(t) > 1 {
				d, sym = &def{}, t[1]
			}
		case "choice":
			close()
			r.choices++
			stack, inMenu = append(stack, block{word: "choice", choice: r.choices}), true
		case "menu":
			close()
			stack, inMenu = append(stack, block{word: "menu"}), true
		case "if":
			close()
			stack = append(stack, block{word: "if", deps: r.condition(rest)})
		case "endif", "endmenu", "endchoice":
			close()
			if len(stack) > len(around) {
				stack = stack[:len(stack)-1]
			}
		case "comment", "mainmenu":
			close()
		case "source", "rsource", "osource", "orsource":
			close()
			if len(t) < 2 {
				continue
			}
			next := r.expand(strings.Trim(t[1], `"'`))
			if strings.HasSuffix(t[0], "rsource") {
				next = path.Join(path.Dir(name), next)
			}
			// A name that a macro computes is not known here; an optional file
			// may not be there.
			if err := r.file(next, stack); err != nil && t[0][0] != 'o' && !strings.Contains(next, "$") {
				return fmt.Errorf("%s: %w", name, err)
			}
		case "depends":
			deps := r.condition(strings.TrimSpace(strings.TrimPrefix(rest, "on")))
			if d != nil {
				d.deps = append(d.deps, deps...)
			} else if inMenu {
				stack[len(stack)-1].deps = append(stack[len(stack)-1].deps, deps...)
			}
		case "bool", "boolean", "tristate", "string", "int", "hex", "prompt":
			if d != nil && len(t) > 1 && (t[1][0] == '"' || t[1][0] == '\'') {
				d.prompt = true
				if len(t) > 3 && t[2] == "if" {
					_, condition, _ := strings.Cut(rest[len(t[1]):], "if")
					if c := r.condition(condition); len(c) > 0 {
						d.asked = c[0]
					}
				}
			}
		case "select":
			if d != nil && len(t) > 1 {
				r.tree.selected[t[1]] = append(r.tree.selected[t[1]], sym)
			}
		case "help", "---help---":
			help = 0
		}
	}
	close()
	return nil
}

// condition reads a condition; one that cannot be read counts as met.
func (r *reader) condition(text string) []*expr {
	e, err := parseExpr(r.expand(text))
	if err != nil {
		return nil
	}
	return []*expr{e}
}

// expand puts in the variables that are known.
func (r *reader) expand(s string) string {
	for name, value := range r.vars {
		s = strings.ReplaceAll(s, "$("+name+")", value)
		s = strings.ReplaceAll(s, "$"+name, value)
	}
	return s
}

// joined gives lines, with those that end in a backslash put together.
func joined(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", " "), "\n")
}

// indentation counts columns, with tabs to every eighth.
func indentation(line string) int {
	n := 0
	for _, c := range line {
		switch c {
		case '\t':
			n = n/8*8 + 8
		case ' ':
			n++
		default:
			return n
		}
	}
	return n
}
