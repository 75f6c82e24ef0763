package workloads

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// find gives the number that an extraction finds in a text.
func (m Extract) find(text []byte) (float64, error) {
	var found []float64
	var err error
	if m.Regex != "" {
		found, err = byRegex(m.Regex, text)
	} else {
		found, err = byPath(m.JSON, text)
	}
	if err != nil {
		return 0, err
	}
	v, err := one(found, m.Take)
	if err != nil {
		return 0, err
	}
	if m.Scale != 0 {
		v *= m.Scale
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("it is %g", v)
	}
	return v, nil
}

// one makes one number of several. Without a word how, there must be one only:
// of two numbers one would be taken by chance.
func one(vs []float64, take string) (float64, error) {
	switch {
	case len(vs) == 0:
		return 0, errors.New("there is none in the output")
	case len(vs) == 1:
		return vs[0], nil
	}
	switch take {
	case "first":
		return vs[0], nil
	case "last":
		return vs[len(vs)-1], nil
	case "min":
		return slices.Min(vs), nil
	case "max":
		return slices.Max(vs), nil
	case "mean":
		return sum(vs) / float64(len(vs)), nil
	case "sum":
		return sum(vs), nil
	}
	return 0, fmt.Errorf("there are %d in the output: say with take: which of them (%s)", len(vs), strings.Join(takes, ", "))
}

func byRegex(pattern string, text []byte) ([]float64, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var vs []float64
	for _, m := range re.FindAllSubmatch(text, -1) {
		v, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number", m[1])
		}
		vs = append(vs, v)
	}
	return vs, nil
}

// step is one part of a path: a key, an index, or all of a list.
type step struct {
	key   string
	index int // of a list; -1 is all of it
	list  bool
}

// pathStep is a key with any number of indexes: jobs[0], a[1][*].
var pathStep = regexp.MustCompile(`^([^\[\].]+)((?:\[(?:[0-9]+|\*)\])*)$`)

// parsePath reads "jobs[0].read.iops" and "jobs[*].read.iops". Keys with dots or
// brackets in them cannot be written.
func parsePath(path string) ([]step, error) {
	var steps []step
	for part := range strings.SplitSeq(path, ".") {
		m := pathStep.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("json %q: %q is no part of a path such as jobs[0].read.iops", path, part)
		}
		steps = append(steps, step{key: m[1]})
		for _, i := range strings.FieldsFunc(m[2], func(c rune) bool { return c == '[' || c == ']' }) {
			index := -1
			if i != "*" {
				var err error
				if index, err = strconv.Atoi(i); err != nil {
					return nil, fmt.Errorf("json %q: %w", path, err)
				}
			}
			steps = append(steps, step{index: index, list: true})
		}
	}
	return steps, nil
}

// byPath finds numbers in JSON. What programs print around it is left away, up
// to the first line that begins with a brace or bracket.
func byPath(path string, text []byte) ([]float64, error) {
	steps, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	v, err := firstJSON(string(text))
	if err != nil {
		return nil, err
	}
	at := []any{v}
	for i, s := range steps {
		var next []any
		for _, v := range at {
			switch v := v.(type) {
			case map[string]any:
				if w, ok := v[s.key]; ok && !s.list {
					next = append(next, w)
				}
			case []any:
				switch {
				case s.list && s.index < 0:
					next = append(next, v...)
				case s.list && s.index < len(v):
					next = append(next, v[s.index])
				}
			}
		}
		if at = next; len(at) == 0 {
			return nil, fmt.Errorf("json %s: nothing at its part %d", path, i+1)
		}
	}
	var vs []float64
	for _, v := range at {
		n, err := number(v)
		if err != nil {
			return nil, fmt.Errorf("json %s: %w", path, err)
		}
		vs = append(vs, n)
	}
	return vs, nil
}

func firstJSON(text string) (any, error) {
	first := errors.New("there is no JSON in the output")
	for rest := text; rest != ""; {
		if rest[0] == '{' || rest[0] == '[' {
			var v any
			d := json.NewDecoder(strings.NewReader(rest))
			d.UseNumber()
			err := d.Decode(&v)
			if err == nil {
				return v, nil
			}
			first = err
		}
		_, after, ok := strings.Cut(rest, "\n")
		if !ok {
			break
		}
		rest = after
	}
	return nil, first
}

func number(v any) (float64, error) {
	switch v := v.(type) {
	case json.Number:
		return v.Float64()
	case string: // some programs put their numbers in quotes
		return strconv.ParseFloat(v, 64)
	}
	return 0, fmt.Errorf("%v is no number", v)
}
