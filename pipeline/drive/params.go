package drive

import (
	"crypto/sha256"
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
// rates included, in the order of profile files; an array's and its
// controller's first; of a profile of one's own the SHA-256 of its file; and
// the drive's faults. It is nil for a drive without timing and for a Spec that
// is not valid.
func (s Spec) Params() []Param {
	r, err := s.resolve()
	if err != nil || !r.timed() {
		return nil
	}
	var out []Param
	if r.ProfileText != "" {
		out = append(out, Param{"profile-sha256", fmt.Sprintf("%x", sha256.Sum256([]byte(r.ProfileText)))})
	}
	if r.array {
		out = append(out, Param{"count", fmt.Sprint(r.Count)}, Param{"raid", string(r.RAID)}, Param{"stripe", r.Stripe.String()})
		out = append(out, listed("controller.", r.controller.Controller)...)
	}
	out = append(out, r.params()...)
	for _, f := range r.Faults {
		out = append(out, Param{"fault", f.String()})
	}
	return out
}

// params gives the parameters of one drive.
func (p profile) params() []Param {
	var out []Param
	switch {
	case p.Disk != nil:
		out = listed("", p.Disk)
	case p.SSD != nil:
		out = listed("", p.SSD)
	default:
		return listed("", p.Raw)
	}
	if p.USB != nil {
		out = append(out, listed("usb.", p.USB)...)
	}
	return out
}

// listed gives the keys of a section as its file would have them.
func listed(prefix string, section any) []Param {
	text, err := yaml.Marshal(section)
	if err != nil {
		return nil
	}
	f, err := parser.ParseBytes(text, 0)
	if err != nil || len(f.Docs) == 0 {
		return nil
	}
	return flatten(nil, prefix, f.Docs[0].Body)
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
