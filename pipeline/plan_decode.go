package pipeline

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"spindle/internal/unit"
)

// decoder sets Go values from nodes. The YAML library can do that too, but
// it stops at the first mistake, keeps no order of maps, and takes "2" for a
// number and 010 for eight; a plan is read to the end and to the letter.
//
// Struct fields are named by their yaml tags. Types with UnmarshalText read
// themselves, so the sizes and rates deep inside another room's type are
// checked where they stand in the file. Values that are not in the plan keep
// what they had before, which is how defaults work.
type decoder struct{ *source }

// nodeReader is a type with a form of its own in the plan.
type nodeReader interface {
	readNode(d *decoder, n *node)
}

var (
	nodeReaderType = reflect.TypeFor[nodeReader]()
	textReaderType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// wholeNumber is what a number looks like: 010 and 0x10 would be read as
// something else by somebody.
var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// set sets v, which must be settable, from n.
func (d *decoder) set(n *node, v reflect.Value) {
	if n == nil || n.wrong {
		return
	}
	if v.Addr().Type().Implements(nodeReaderType) {
		v.Addr().Interface().(nodeReader).readNode(d, n)
		return
	}
	// A list that has a text form may be written either way: config: FILE.
	listed := v.Kind() == reflect.Slice && n.kind == sequence
	if v.Addr().Type().Implements(textReaderType) && !listed {
		d.text(n, v.Addr().Interface().(encoding.TextUnmarshaler))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.set(n, v.Elem())
	case reflect.Struct:
		d.fields(n, v)
	case reflect.Map:
		d.entries(n, v)
	case reflect.Slice:
		d.list(n, v)
	default:
		d.scalar(n, v)
	}
}

func (d *decoder) text(n *node, to encoding.TextUnmarshaler) {
	if !d.expect(n, scalar, "one value") {
		return
	}
	if err := to.UnmarshalText([]byte(n.text)); err != nil {
		message := err.Error()
		if !strings.HasPrefix(message, n.name()+" ") { // size: size "96": no unit
			message = n.name() + ": " + message
		}
		d.value(n, "%s", message)
	}
}

// expect reports a node of another shape. Nothing at all stands for an empty
// mapping, because a mapping whose entries are all commented out is one.
func (d *decoder) expect(n *node, k kind, what string) bool {
	switch {
	case n.null && k == mapping:
		return true
	case n.null:
		d.entry(n, "%s has no value: it wants %s", n.name(), what)
	case k == sequence && n.kind == scalar && n.plain:
		d.value(n, "%s wants %s, such as [%s]", n.name(), what, clip(n.text))
	case n.kind != k && n.kind == scalar:
		d.value(n, "%s wants %s, not %s", n.name(), what, quote(n.text))
	case n.kind != k:
		d.value(n, "%s wants %s, not %s", n.name(), what, n.kind)
	default:
		return true
	}
	return false
}

func (d *decoder) fields(n *node, v reflect.Value) {
	if !d.expect(n, mapping, "a mapping") {
		return
	}
	known := make(map[string]reflect.Value)
	var names []string
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if !v.Type().Field(i).IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = strings.ToLower(v.Type().Field(i).Name)
		}
		known[name] = v.Field(i)
		names = append(names, name)
	}
	for _, f := range n.fields {
		to, ok := known[f.key.text]
		switch {
		case ok:
			d.set(f, to)
			d.notNothing(f, to)
		case laterKey(f) != "":
			d.entry(f, "%s is not in this version of spindle: %s", quote(f.key.text), laterKey(f))
		default:
			d.entry(f, "%s", unknown("key", f.key.text, names))
		}
	}
}

// notNothing refuses a size, rate or duration of zero, and an empty text: in
// these fields nothing stands for the default, and somebody who wrote 0 meant
// something else. Where zero has a meaning the field is a pointer.
func (d *decoder) notNothing(n *node, v reflect.Value) {
	if n.broken() || n.null {
		return
	}
	switch v.Interface().(type) {
	case unit.Size, unit.Rate, unit.Duration:
		if v.IsZero() {
			d.value(n, "%s: %s is nothing at all: write more, or leave %s out", n.name(), n.text, n.name())
		}
	case string:
		if strings.TrimSpace(n.text) == "" && n.kind == scalar {
			d.value(n, "%s is empty: write something, or leave it out", n.name())
		}
	}
}

func (d *decoder) entries(n *node, v reflect.Value) {
	if !d.expect(n, mapping, "a mapping") {
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for _, f := range n.fields {
		e := reflect.New(v.Type().Elem()).Elem()
		d.set(f, e)
		v.SetMapIndex(reflect.ValueOf(f.key.text).Convert(v.Type().Key()), e)
	}
}

func (d *decoder) list(n *node, v reflect.Value) {
	if !d.expect(n, sequence, "a list") {
		return
	}
	if len(n.items) == 0 {
		d.value(n, "%s is an empty list: take it out or put something in", n.name())
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	first := make(map[string]*node)
	for i, item := range n.items {
		d.set(item, s.Index(i))
		if item.kind != scalar || item.wrong {
			continue
		}
		if other := first[item.text]; other != nil {
			d.value(item, "%s is in the list twice%s", quote(item.text), firstIn(other.line, item.line))
			continue
		}
		first[item.text] = item
	}
	v.Set(s)
}

func (d *decoder) scalar(n *node, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		// Text needs no quotes, also where YAML would see a number: 6.12.
		if d.expect(n, scalar, "text") {
			v.SetString(n.text)
		}
	case reflect.Bool:
		if !d.expect(n, scalar, "true or false") {
			return
		}
		if !n.plain || n.text != "true" && n.text != "false" {
			d.value(n, "%s wants true or false, not %s", n.name(), quote(n.text))
			return
		}
		v.SetBool(n.text == "true")
	case reflect.Float32, reflect.Float64:
		if !d.expect(n, scalar, "a number") {
			return
		}
		f, err := strconv.ParseFloat(n.text, v.Type().Bits())
		if err != nil || !n.plain || strings.ContainsAny(n.text, "xXpP_iInN") {
			d.value(n, "%s wants a number, not %s", n.name(), quote(n.text))
			return
		}
		v.SetFloat(f)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if d.whole(n) {
			i, err := strconv.ParseInt(n.text, 10, v.Type().Bits())
			if err != nil {
				// What the field takes is far less, and the checks say it.
				d.value(n, "%s: %s is out of range: a number here has at most 18 digits", n.name(), clip(n.text))
				return
			}
			v.SetInt(i)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if d.whole(n) {
			u, err := strconv.ParseUint(n.text, 10, v.Type().Bits())
			if err != nil {
				d.value(n, "%s: %s is out of range: want from 0 to %d", n.name(), clip(n.text), uint64(math.MaxUint64)>>(64-v.Type().Bits()))
				return
			}
			v.SetUint(u)
		}
	default:
		// A field of a type that no plan can set: a mistake in the program,
		// found by the first test that loads it.
		panic(fmt.Sprintf("plan field %s has type %s", strings.Join(n.path(), "."), v.Type()))
	}
}

func (d *decoder) whole(n *node) bool {
	if !d.expect(n, scalar, "a whole number") {
		return false
	}
	switch {
	case !n.plain || !wholeNumber.MatchString(n.text):
		d.value(n, "%s wants a whole number, not %s", n.name(), quote(n.text))
	default:
		return true
	}
	return false
}
