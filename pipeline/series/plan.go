package series

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"spindle/internal/fault"
	"spindle/kernels"
	"spindle/pipeline"
)

// base gives the kernel that the series goes on top of: that of the plan's
// first arm.
func base(p *pipeline.Plan) (arm string, k kernels.Source, err error) {
	first := p.Arms[0]
	k = p.Kernels[first.Kernel]
	fail := func(format string, args ...any) (string, kernels.Source, error) {
		return "", k, fault.Planf("series: the base is the plan's first arm, %s, and its kernel %s %s", first.Name, first.Kernel, fmt.Sprintf(format, args...))
	}
	switch {
	case !k.Builds():
		return fail("is built already (%s): patches need source code (git, tarball, tree, or deb: linux-source-...)", k)
	case k.Series != "":
		return fail("has a series already (%s): put its patches and these into one series, or take a rev that has them", k.Series)
	}
	return first.Name, k, nil
}

// LeftOut gives the arms of a plan that a series does not measure: all but the
// first.
func LeftOut(p *pipeline.Plan) []string {
	var out []string
	for _, a := range p.Arms[1:] {
		out = append(out, a.Name)
	}
	return out
}

// added is an arm that a series adds to a plan.
type added struct {
	name   string
	series string // file
	upto   int
}

// derive gives the plan's text with the base and the added arms alone: the same
// settings, kernels with patches. The rest stays as it was written, comments
// included.
func derive(p *pipeline.Plan, arms []added) ([]byte, error) {
	text := strings.ReplaceAll(strings.TrimPrefix(p.Text, "\ufeff"), "\r\n", "\n")
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, fmt.Errorf("add arms to the plan: %w", err)
	}
	var top []*ast.MappingValueNode
	switch body := file.Docs[0].Body.(type) {
	case *ast.MappingNode:
		if body.IsFlowStyle {
			return nil, fault.Planf("add arms to the plan: it is written within braces: write one key a line (name: ..., kernels: ...)")
		}
		top = body.Values
	case *ast.MappingValueNode:
		top = []*ast.MappingValueNode{body}
	}
	first := p.Arms[0]
	source := p.Kernels[first.Kernel]
	newKernels := []string{"kernels:", "  " + first.Kernel + ": " + flowSource(source)}
	arm, err := armText(top, first.Name)
	if err != nil {
		return nil, err
	}
	newArms := []string{"arms:", "  " + first.Name + ": " + arm("")}
	for _, a := range arms {
		name := kernelName(p, first.Kernel, a.name)
		s := source
		s.Series, s.Upto = a.series, &a.upto
		newKernels = append(newKernels, "  "+name+": "+flowSource(s))
		newArms = append(newArms, "  "+a.name+": "+arm(name))
	}
	lines := strings.Split(text, "\n")
	var out []string
	at := 0
	for i, v := range top {
		from, to := v.Key.GetToken().Position.Line-1, len(lines)
		if i+1 < len(top) {
			to = top[i+1].Key.GetToken().Position.Line - 1
		}
		out = append(out, lines[at:from]...)
		at = to
		switch v.Key.GetToken().Value {
		case "kernels":
			out = append(out, newKernels...)
		case "arms":
			out = append(out, newArms...)
		default:
			out = append(out, lines[from:to]...)
			continue
		}
		// Comments above the next key belong to it.
		keep := to
		for keep > from+1 && (strings.TrimSpace(lines[keep-1]) == "" || strings.HasPrefix(lines[keep-1], "#")) {
			keep--
		}
		out = append(out, lines[keep:to]...)
	}
	return []byte(strings.Join(append(out, lines[at:]...), "\n")), nil
}

// kernelName names an added arm's kernel, apart from the base.
func kernelName(p *pipeline.Plan, base, arm string) string {
	for arm == base {
		arm += "-patched"
	}
	return arm
}

// armText gives a function that writes the first arm with another kernel, or
// with its own.
func armText(top []*ast.MappingValueNode, name string) (func(kernel string) string, error) {
	i := slices.IndexFunc(top, func(v *ast.MappingValueNode) bool { return v.Key.GetToken().Value == "arms" })
	if i >= 0 {
		for _, v := range entries(top[i].Value) {
			if v.Key.GetToken().Value != name {
				continue
			}
			return func(kernel string) string {
				var fields []string
				for _, f := range entries(v.Value) {
					value := flow(f.Value)
					if f.Key.GetToken().Value == "kernel" && kernel != "" {
						value = scalar(kernel)
					}
					fields = append(fields, scalarNode(f.Key)+": "+value)
				}
				return "{" + strings.Join(fields, ", ") + "}"
			}, nil
		}
	}
	return nil, fmt.Errorf("add arms to the plan: its arm %s was not found in the text", name)
}

// flowSource writes a kernel's source on one line.
func flowSource(s kernels.Source) string {
	var fields []string
	add := func(key, value string) {
		if value != "" {
			fields = append(fields, key+": "+scalar(value))
		}
	}
	add("deb", s.Deb)
	add("git", s.Git)
	add("rev", s.Rev)
	add("tarball", s.Tarball)
	add("sha256", s.SHA256)
	add("tree", s.Tree)
	add("series", s.Series)
	if s.Upto != nil {
		fields = append(fields, fmt.Sprintf("upto: %d", *s.Upto))
	}
	if len(s.Config) > 0 {
		var parts []string
		for _, c := range s.Config {
			parts = append(parts, scalar(c))
		}
		fields = append(fields, "config: ["+strings.Join(parts, ", ")+"]")
	}
	add("cc", s.CC)
	add("arch", s.Arch)
	return "{" + strings.Join(fields, ", ") + "}"
}

// entries gives a mapping's entries.
func entries(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// flow writes a value of the plan on one line. What was written without quotes
// stays so where it can: 5 is a number and "5" is a text.
func flow(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		var fields []string
		for _, v := range entries(n) {
			fields = append(fields, scalarNode(v.Key)+": "+flow(v.Value))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case *ast.SequenceNode:
		var items []string
		for _, v := range n.Values {
			items = append(items, flow(v))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return scalarNode(n)
}

func scalarNode(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NullNode:
		return "null"
	case *ast.LiteralNode:
		return quoted(n.Value.Value)
	case *ast.StringNode:
		if n.GetToken().Type != token.StringType {
			return quoted(n.Value)
		}
		return scalar(n.Value)
	}
	return n.GetToken().Value // numbers, true and false: as written
}

// harmless are texts that YAML reads as they are within braces.
var harmless = regexp.MustCompile(`^[A-Za-z/~._^][A-Za-z0-9/~._^+=@%-]*$`)

// words are what YAML, or some version of it, takes for something else.
var words = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|null|~|\.nan|\.inf|y|n)$`)

// scalar writes a text.
func scalar(s string) string {
	if harmless.MatchString(s) && !words.MatchString(s) {
		return s
	}
	return quoted(s)
}

// quoted writes a text in double quotes: JSON is YAML.
func quoted(s string) string {
	b, _ := json.Marshal(s) // of a string, which cannot fail
	return string(b)
}
