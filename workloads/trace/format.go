package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Format is how an event's fields lie in its data, as its file "format" says.
type Format struct {
	Name   string
	ID     int
	fields map[string]field
}

type field struct {
	offset, size int
	signed       bool
}

var fieldForm = regexp.MustCompile(`^\s*field:(.+?);\s*offset:([0-9]{1,6});\s*size:([0-9]{1,6});\s*signed:([01]);`)

// ParseFormat reads a format file.
func ParseFormat(text string) (Format, error) {
	f := Format{ID: -1, fields: map[string]field{}}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "name: "); ok {
			f.Name = name
		}
		if id, ok := strings.CutPrefix(line, "ID: "); ok {
			n, err := strconv.ParseUint(id, 10, 16)
			if err != nil {
				return f, fmt.Errorf("read format of %s: %w", f.Name, err)
			}
			f.ID = int(n)
		}
		m := fieldForm.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		words := strings.Fields(m[1])
		name, _, _ := strings.Cut(words[len(words)-1], "[")
		offset, _ := strconv.Atoi(m[2])
		size, _ := strconv.Atoi(m[3])
		f.fields[strings.TrimLeft(name, "*")] = field{offset, size, m[4] == "1"}
	}
	if f.Name == "" || f.ID < 0 {
		return f, fmt.Errorf("read format of %q: no name or no ID", f.Name)
	}
	return f, nil
}

// Has says whether it has all those fields.
func (f Format) Has(names ...string) bool {
	for _, n := range names {
		if _, ok := f.fields[n]; !ok {
			return false
		}
	}
	return true
}

// Int gives a field's number; 0 of a field that is not there or is no number.
func (f Format) Int(e Event, name string) int64 {
	x, ok := f.fields[name]
	if !ok || x.offset+x.size > len(e.Data) {
		return 0
	}
	b := e.Data[x.offset : x.offset+x.size]
	switch {
	case x.size == 8:
		return int64(binary.LittleEndian.Uint64(b))
	case x.size == 4 && x.signed:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case x.size == 4:
		return int64(binary.LittleEndian.Uint32(b))
	case x.size == 2:
		return int64(binary.LittleEndian.Uint16(b))
	case x.size == 1:
		return int64(b[0])
	}
	return 0
}

// Text gives a field of characters up to its first zero.
func (f Format) Text(e Event, name string) string {
	x, ok := f.fields[name]
	if !ok || x.offset+x.size > len(e.Data) {
		return ""
	}
	b, _, _ := bytes.Cut(e.Data[x.offset:x.offset+x.size], []byte{0})
	return string(b)
}
