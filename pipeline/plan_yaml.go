package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a plan file. A plan is a page of text; the bounds keep the YAML
// parser, which recurses and is quadratic in the nesting, from being fed
// something else.
const (
	maxPlanBytes   = 256 << 10
	maxPlanLine    = 4 << 10 // bytes
	maxPlanNesting = 64
)

// read parses the file into its tree. It returns nil when there is no tree to
// go on with; the problems say why.
func (s *source) read(text []byte) *node {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for line := range strings.SplitSeq(string(text), "\n") {
		s.lines = append(s.lines, strings.TrimSuffix(line, "\r"))
	}
	if !s.plainText(len(text)) {
		return nil
	}
	// Line ends of DOS make the parser lose count of lines.
	file, err := parse(strings.Join(s.lines, "\n"))
	if err != nil {
		s.syntax(err)
		return nil
	}
	if len(file.Docs) > 0 {
		if d, ok := file.Docs[0].Body.(*ast.DirectiveNode); ok {
			s.token(d.GetToken(), "YAML directives have no place in a plan: take the line out")
			return nil
		}
	}
	if len(file.Docs) > 1 {
		second := file.Docs[1]
		tk := second.Start
		if tk == nil && second.Body != nil {
			tk = second.Body.GetToken()
		}
		s.token(tk, "a plan is one YAML document: put the second into a file of its own")
		return nil
	}
	var root *node
	if len(file.Docs) == 1 {
		root = s.node(file.Docs[0].Body, nil, nil)
	}
	switch {
	case root == nil || root.null:
		s.at(1, 1, 1, "the plan is empty: spindle plan show demo prints one to begin with")
		return nil
	case root.kind != mapping:
		s.value(root, "a plan is a mapping (name: ..., kernels: ...), not %s", root.kind)
		return nil
	}
	return root
}

// plainText refuses what is not text that a plan could be made of.
func (s *source) plainText(size int) bool {
	if size > maxPlanBytes {
		s.at(1, 1, 1, fmt.Sprintf("%d bytes are too many for a plan: at most %d KiB", size, maxPlanBytes>>10))
		return false
	}
	nesting := 0
	for i, line := range s.lines {
		if len(line) > maxPlanLine {
			s.at(i+1, 1, 1, fmt.Sprintf("the line has %d bytes: at most %d", len(line), maxPlanLine))
			return false
		}
		column := 0
		for j, r := range line {
			column++
			_, n := utf8.DecodeRuneInString(line[j:])
			switch {
			case r == utf8.RuneError && n == 1:
				s.at(i+1, column, 1, fmt.Sprintf("byte 0x%02x is not UTF-8 text", line[j]))
				return false
			case unicode.IsControl(r) && r != '\t', r == '\ufeff':
				s.at(i+1, column, 1, fmt.Sprintf("control character U+%04X in the text", r))
				return false
			case r == '[' || r == '{':
				nesting++
			case r == ']' || r == '}':
				nesting = max(nesting-1, 0)
			}
			// Comments and quoted text may hold brackets too; ten times over
			// is no accident.
			if nesting > 10*maxPlanNesting {
				s.at(i+1, column, 1, fmt.Sprintf("nested more than %d deep", maxPlanNesting))
				return false
			}
		}
	}
	return true
}

// parse calls the YAML parser. Duplicate keys are left in: they are reported
// with the rest. Should the parser panic on a malformed file, that is the
// file's fault and no end of the program.
func parse(text string) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser gave up (%v)", r)
		}
	}()
	return parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
}

func (s *source) syntax(err error) {
	var se *yaml.SyntaxError
	if errors.As(err, &se) {
		if strings.Contains(se.Message, "'\t'") {
			se.Message = "tabs cannot indent: use spaces"
		}
		s.token(se.Token, "YAML syntax: "+se.Message)
		return
	}
	s.at(1, 1, 1, "YAML syntax: "+err.Error())
}

func (s *source) token(tk *token.Token, message string) {
	if tk == nil || tk.Position == nil {
		s.at(1, 1, 1, message)
		return
	}
	s.at(tk.Position.Line, tk.Position.Column, 1, message)
}

// position gives the place of a token. The parser puts some of them on the
// space before.
func (s *source) position(tk *token.Token) (line, column int) {
	if tk == nil || tk.Position == nil {
		return 1, 1
	}
	line, column = tk.Position.Line, tk.Position.Column
	if line < 1 || line > len(s.lines) {
		return line, column
	}
	text := []rune(s.lines[line-1])
	for i := column - 1; i >= 0 && i < len(text); i++ {
		if text[i] != ' ' && text[i] != '\t' {
			return line, i + 1
		}
	}
	return line, column
}

// node turns a YAML node into ours.
func (s *source) node(y ast.Node, key, parent *node) *node {
	n := &node{key: key, parent: parent}
	depth := 0
	for up := parent; up != nil; up = up.parent {
		depth++
	}
	if y == nil {
		n.null = true
		if key != nil {
			n.line, n.column, n.width = key.line, key.column+key.width, 1
		}
		return n
	}
	n.line, n.column = s.position(y.GetToken())
	n.width = 1
	if depth > maxPlanNesting {
		s.value(n, "nested more than %d deep", maxPlanNesting)
		return n
	}
	switch y := y.(type) {
	case *ast.MappingNode:
		s.mapping(n, y.Values)
	case *ast.MappingValueNode:
		s.mapping(n, []*ast.MappingValueNode{y})
	case *ast.SequenceNode:
		n.kind = sequence
		for _, v := range y.Values {
			n.items = append(n.items, s.node(v, nil, n))
		}
	case *ast.AnchorNode:
		s.value(n, "anchors have no place in a plan: write the value out where it is used")
	case *ast.AliasNode:
		s.value(n, "aliases have no place in a plan: write the value out")
	case *ast.TagNode:
		s.value(n, "YAML tags such as %s have no place in a plan: take it out", quote(y.GetToken().Value))
	case *ast.NullNode:
		n.null, n.plain = true, true
		s.extent(n, y.GetToken())
	case *ast.LiteralNode:
		n.text = y.Value.Value
	case *ast.StringNode:
		n.text = y.Value
		n.plain = y.GetToken().Type == token.StringType
		s.extent(n, y.GetToken())
	case ast.ScalarNode: // numbers, true and false: the text as written
		n.text, n.plain = y.GetToken().Value, true
		s.extent(n, y.GetToken())
	default:
		s.value(n, "%s has no place in a plan", strings.ToLower(y.Type().String()))
	}
	return n
}

func (s *source) mapping(n *node, values []*ast.MappingValueNode) {
	n.kind = mapping
	for i, v := range values {
		key := s.key(v.Key, n)
		if i == 0 && n.column > key.column && n.line >= key.line {
			// Of a block mapping the parser gives the place of the first colon.
			n.line, n.column, n.width = key.line, key.column, key.width
		}
		if key.wrong {
			n.wrong = true
			continue
		}
		if first := n.get(key.text); first != nil {
			s.at(key.line, key.column, key.width,
				fmt.Sprintf("%s is there twice%s", quote(key.text), firstIn(first.key.line, key.line)))
			n.wrong = true
			continue
		}
		n.fields = append(n.fields, s.node(v.Value, key, n))
	}
}

// key turns a mapping's key into a node.
func (s *source) key(y ast.MapKeyNode, parent *node) *node {
	n := &node{parent: parent}
	n.line, n.column = s.position(y.GetToken())
	n.width = 1
	switch y := y.(type) {
	case *ast.MappingKeyNode:
		s.value(n, `keys marked with "?" have no place in a plan: write "key: value"`)
	case *ast.MergeKeyNode:
		s.value(n, `merge keys ("<<") have no place in a plan: write the entries out`)
	case *ast.StringNode:
		n.text = y.Value
		n.plain = y.GetToken().Type == token.StringType
		s.extent(n, y.GetToken())
		if n.text == "" {
			s.value(n, "the key is empty")
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		n.text, n.plain = y.GetToken().Value, true
		s.extent(n, y.GetToken())
	default:
		s.value(n, "a key must be a plain word")
	}
	return n
}

// extent finds how many characters a scalar covers on its line, quotes
// included, so that the caret line can mark all of it.
func (s *source) extent(n *node, tk *token.Token) {
	if n.line < 1 || n.line > len(s.lines) {
		return
	}
	line := []rune(s.lines[n.line-1])
	if n.column < 1 || n.column > len(line) {
		return
	}
	rest := string(line[n.column-1:])
	switch tk.Type {
	case token.DoubleQuoteType, token.SingleQuoteType:
		// Up to the closing quote; a quote that is escaped inside only makes
		// the mark shorter.
		if end := strings.IndexByte(rest[1:], rest[0]); end >= 0 {
			n.width = utf8.RuneCountInString(rest[:end+2])
		}
	default:
		if strings.HasPrefix(rest, tk.Value) {
			n.width = utf8.RuneCountInString(tk.Value)
		}
	}
}
