package drive

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Param is one parameter of a drive's model, as its profile names it:
// "write-cache.size", "32MiB".
type Param struct{ Name, Text string }

// Params gives every parameter of the model as the drive has it, rescaled
// rates included, in the order of profile files. It is nil for a drive without
// timing and for a Spec that is not valid.
func (s Spec) Params() []Param {
	r, err := s.resolve()
	if err != nil || r.disk == nil {
		return nil
	}
	text, err := yaml.Marshal(r.disk)
	if err != nil {
		return nil
	}
	f, err := parser.ParseBytes(text, 0)
	if err != nil || len(f.Docs) == 0 {
		return nil
	}
	return flatten(nil, "", f.Docs[0].Body)
}

// flatten writes nested keys with dots between them.
func flatten(out []Param, prefix string, n ast.Node) []Param {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return append(out, Param{strings.TrimSuffix(prefix, "."), strings.TrimSuffix(strings.TrimSpace(fmt.Sprint(n)), ".0")})
	}
	for _, v := range m.Values {
		out = flatten(out, prefix+v.Key.String()+".", v.Value)
	}
	return out
}
