package drive

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"spindle/internal/fault"
)

// FileError is what is wrong with a profile's file, and where.
type FileError struct {
	File         string
	Line, Column int    // counted from 1; column in characters
	Source       string // the line of the file
	Message      string // lower case, one line
}

// Error is one line: the place and the message.
func (e *FileError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Excerpt is the line with a caret below the place, as compilers show it.
func (e *FileError) Excerpt() string {
	gutter := fmt.Sprintf("%5d", e.Line)
	lead := make([]rune, 0, e.Column)
	for i, r := range []rune(e.Source) {
		if i == e.Column-1 {
			break
		}
		if r != '\t' {
			r = ' '
		}
		lead = append(lead, r)
	}
	return fmt.Sprintf("%s | %s\n%s | %s^", gutter, e.Source, strings.Repeat(" ", len(gutter)), string(lead))
}

// sheet is the text of a profile's file.
type sheet struct {
	file string
	text []byte
}

// maxSheet is far beyond any profile.
const maxSheet = 64 << 10

// decode reads the text into v, strictly.
func (s sheet) decode(v any) error {
	switch {
	case len(s.text) > maxSheet:
		return s.place(1, 1, fmt.Sprintf("%d bytes are too many for a profile: at most %d KiB", len(s.text), maxSheet>>10))
	case !utf8.Valid(s.text):
		return s.place(1, 1, "not UTF-8 text")
	case len(bytes.TrimSpace(s.text)) == 0:
		return s.place(1, 1, "the profile is empty: spindle drive show sata-7200 --yaml prints one to begin with")
	}
	if err := s.values(reflect.TypeOf(v).Elem()); err != nil {
		return err
	}
	err := s.yaml(v)
	if errors.Is(err, io.EOF) { // comments alone
		return s.place(1, 1, "the profile is empty: spindle drive show sata-7200 --yaml prints one to begin with")
	}
	var y yaml.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &y) && y.GetToken() != nil:
		return s.token(y.GetToken(), y.GetMessage())
	}
	return s.place(1, 1, oneLine(err.Error()))
}

// values checks keys and values against the types they are for. The library
// would too, but without the place where a type reads its own text, and in the
// words of Go.
func (s sheet) values(t reflect.Type) error {
	f, err := s.parse()
	if err != nil || len(f.Docs) != 1 {
		return nil // the library's to say
	}
	return s.value("", f.Docs[0].Body, t)
}

var readsText = reflect.TypeFor[encoding.TextUnmarshaler]()

func (s sheet) value(key string, n ast.Node, t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n == nil || n.GetToken() == nil {
		return nil
	}
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	}
	wants := func(what string) error {
		return s.token(n.GetToken(), fmt.Sprintf("%s wants %s, not %s", orElse(key, "the profile"), what, oneLine(n.String())))
	}
	text := n.GetToken().Value
	switch {
	case reflect.PointerTo(t).Implements(readsText):
		if values != nil || n.Type() == ast.SequenceType {
			return wants("one value")
		}
		if err := reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			return s.token(n.GetToken(), key+": "+err.Error())
		}
	case t.Kind() == reflect.Struct:
		if values == nil {
			return wants("a mapping")
		}
		for _, v := range values {
			name := v.Key.String()
			field, ok := fieldOf(t, name)
			if !ok {
				return s.token(v.Key.GetToken(), fmt.Sprintf("unknown key %q: there are %s", name, strings.Join(keysOf(t), ", ")))
			}
			if err := s.value(name, v.Value, field); err != nil {
				return err
			}
		}
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return wants("a whole number")
		}
	case t.Kind() == reflect.Float64:
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return wants("a number")
		}
	case t.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return wants("true or false")
		}
	case t.Kind() == reflect.Map:
		if values == nil {
			return wants("a mapping")
		}
	case values != nil || n.Type() == ast.SequenceType:
		return wants("text")
	}
	return nil
}

// fieldOf gives the type behind a key of a struct.
func fieldOf(t reflect.Type, key string) (reflect.Type, bool) {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name == key {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}

// keysOf lists the keys of a struct.
func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		keys = append(keys, name)
	}
	return keys
}

// yaml calls the library. Should it panic on a malformed file, that is the
// file's fault and no end of the program.
func (s sheet) yaml(v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser gave up (%v)", r)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(s.text), yaml.Strict())
	if err := d.Decode(v); err != nil {
		return err
	}
	var more any
	if d.Decode(&more) == nil {
		return errors.New("a profile is one YAML document")
	}
	return nil
}

// parse gives the tree of the text, under the same caution.
func (s sheet) parse() (f *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser gave up (%v)", r)
		}
	}()
	return parser.ParseBytes(s.text, 0)
}

func oneLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return text
}

// section gives an error of a part of the profile its place: it begins with the
// name of a key.
func (s sheet) section(name string, err error) error {
	if err == nil {
		return nil
	}
	key := err.Error()
	if i := strings.IndexAny(key, " :,"); i >= 0 {
		key = key[:i]
	}
	return s.at(name+"."+key, name+": "+err.Error())
}

// at makes an error about a key, named with dots. Where the key is not there,
// the place is that of the longest part of the name that is.
func (s sheet) at(key, message string) error {
	f, err := s.parse()
	if err != nil || len(f.Docs) == 0 {
		return s.place(1, 1, message)
	}
	tk := find(f.Docs[0].Body, key)
	if tk == nil {
		return s.place(1, 1, message)
	}
	return s.token(tk, message)
}

// find gives the token of a key, or of the key that it would be below.
func find(n ast.Node, key string) *token.Token {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	}
	for _, v := range values {
		name := v.Key.String()
		if rest, ok := strings.CutPrefix(key, name); ok && (rest == "" || rest[0] == '.') {
			if rest != "" {
				if tk := find(v.Value, rest[1:]); tk != nil {
					return tk
				}
			}
			return v.Key.GetToken()
		}
	}
	return nil
}

func (s sheet) token(tk *token.Token, message string) error {
	if tk.Position == nil {
		return s.place(1, 1, oneLine(message))
	}
	return s.place(tk.Position.Line, tk.Position.Column, oneLine(message))
}

func (s sheet) place(line, column int, message string) error {
	e := &FileError{File: s.file, Line: line, Column: column, Message: message}
	if lines := strings.Split(string(s.text), "\n"); line >= 1 && line <= len(lines) {
		e.Source = strings.TrimSuffix(lines[line-1], "\r")
		// The library puts some tokens on the space before them.
		for r := []rune(e.Source); e.Column >= 1 && e.Column < len(r) && r[e.Column-1] == ' '; {
			e.Column++
		}
	}
	return e
}

// ReadProfile reads the profile's file into the Spec, if it names one; dir is
// what a relative path starts from. A Spec that was read does not look at the
// file again. Errors are faults of the plan and, for what is in the file,
// [*FileError].
func (s Spec) ReadProfile(dir string) (Spec, error) {
	if !IsFile(s.Profile) || s.ProfileText != "" {
		return s, nil
	}
	name := s.Profile
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	text, err := readSheet(name)
	if err != nil {
		return s, fault.Planf("read profile: %w", err)
	}
	if _, err := parseProfile(s.Profile, text); err != nil {
		return s, fault.New(fault.Plan, "", err)
	}
	s.ProfileText = string(text)
	return s, nil
}

// readSheet reads a regular file and no more of it than a profile can be long.
func readSheet(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	return io.ReadAll(io.LimitReader(f, maxSheet+1))
}
