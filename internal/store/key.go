package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"os"
	"regexp"
)

// form is hashed first. It changes when the way of hashing does, so that an
// old store is not misread.
const form = "spindle store 1"

// Key names an entry: the hash of a complete description of how it is made.
// Keys can be compared with ==. The zero Key names nothing.
type Key struct {
	kind, hash string
	inputs     string // JSON list of Input, for people; the hash covers it
}

// Kind gives the kind of thing, such as "kernel".
func (k Key) Kind() string { return k.kind }

// Hash gives 64 hexadecimal digits.
func (k Key) Hash() string { return k.hash }

// String gives "kind-hash".
func (k Key) String() string { return k.kind + "-" + k.hash }

// Input is one thing that went into a key.
type Input struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`  // of a field, cut where it is long
	SHA256 string `json:"sha256,omitempty"` // of a file, or of a value that was cut
	Size   int64  `json:"size,omitempty"`   // bytes, with SHA256
}

// longValue is where the listing of a value is cut; the hash covers all of it.
const longValue = 2000

// Hasher collects what goes into a key. Order counts: a caller that has a map
// sorts it first.
type Hasher struct {
	kind   string
	h      hash.Hash
	inputs []Input
	err    error
}

var kindName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// NewKey starts a key. The kind is lower case letters, digits and single
// dashes; it becomes a directory's name.
func NewKey(kind string) *Hasher {
	h := &Hasher{kind: kind, h: sha256.New()}
	if !kindName.MatchString(kind) {
		h.err = fmt.Errorf("make key: kind %q: want lower case letters, digits and dashes", kind)
	}
	h.add(form)
	h.add(kind)
	return h
}

// add hashes one string behind its length, so that no two lists of strings
// give the same bytes.
func (h *Hasher) add(s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	h.h.Write(n[:])
	io.WriteString(h.h, s)
}

// Field adds a named value.
func (h *Hasher) Field(name, value string) *Hasher {
	h.add("field")
	h.add(name)
	h.add(value)
	in := Input{Name: name, Value: value}
	if len(value) > longValue {
		sum := sha256.Sum256([]byte(value))
		in = Input{Name: name, Value: value[:200] + "...", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(value))}
	}
	h.inputs = append(h.inputs, in)
	return h
}

// File adds what a file holds under a name. The path does not count, nor do
// mode and times. An error to read it comes out of Sum.
func (h *Hasher) File(name, path string) *Hasher {
	sum, size, err := hashFile(path)
	if err != nil && h.err == nil {
		h.err = fmt.Errorf("make key: %s: %w", name, err)
	}
	h.add("file")
	h.add(name)
	h.add(sum)
	h.inputs = append(h.inputs, Input{Name: name, SHA256: sum, Size: size})
	return h
}

func hashFile(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// Sum gives the key, or the first error on the way.
func (h *Hasher) Sum() (Key, error) {
	if h.err != nil {
		return Key{}, h.err
	}
	inputs, err := json.Marshal(h.inputs)
	if err != nil {
		return Key{}, fmt.Errorf("make key: %w", err)
	}
	return Key{h.kind, hex.EncodeToString(h.h.Sum(nil)), string(inputs)}, nil
}
