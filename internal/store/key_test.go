package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The hash is the one that the documentation describes, worked out by hand.
func TestSumIsSHA256OfLengthPrefixedStrings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	k, err := NewKey("kernel").Field("name", "value").File("config", file).Sum()
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for _, s := range []string{
		"spindle store 1", "kernel",
		"field", "name", "value",
		// FIPS 180-4, the example "abc"
		"file", "config", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	sum := sha256.Sum256(b)
	if want := hex.EncodeToString(sum[:]); k.Hash() != want || k.Kind() != "kernel" || k.String() != "kernel-"+want {
		t.Errorf("%v, want kernel-%s", k, want)
	}
}

func TestDifferentInputsGiveDifferentKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	empty, _, err := hashFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i, h := range []*Hasher{
		NewKey("a"),
		NewKey("b"),
		NewKey("a").Field("", ""),
		NewKey("a").Field("x", ""),
		NewKey("a").Field("", "x"),
		NewKey("a").Field("x", "y"),
		NewKey("a").Field("y", "x"),
		NewKey("a").Field("xy", ""),
		NewKey("a").Field("x", "y").Field("z", ""),
		NewKey("a").Field("z", "").Field("x", "y"),
		NewKey("a").Field("x", "y\x00\x00\x00\x00\x00\x00\x00\x01z"),
		NewKey("a").Field("x", strings.Repeat("y", longValue+1)),
		NewKey("a").Field("x", strings.Repeat("y", longValue+2)),
		NewKey("a").Field("x", empty),
		NewKey("a").File("x", file),
	} {
		k, err := h.Sum()
		if err != nil {
			t.Fatal(err)
		}
		if j, ok := seen[k.Hash()]; ok {
			t.Errorf("%d and %d have one key", i, j)
		}
		seen[k.Hash()] = i
	}
}

func TestKeyErrors(t *testing.T) {
	for _, kind := range []string{"", "A", "a/b", "..", "-a", "a--b", "a b"} {
		if k, err := NewKey(kind).Sum(); err == nil {
			t.Errorf("kind %q gives %v", kind, k)
		}
	}
	k, err := NewKey("a").File("config", "/no/such").Field("x", "y").Sum()
	if err == nil || k != (Key{}) || !strings.HasPrefix(err.Error(), "make key: config: open /no/such: ") {
		t.Errorf("%v, %v", k, err)
	}
	s := open(t)
	if _, err := s.Make(t.Context(), k, write("x", "y")); err == nil {
		t.Error("an entry was made under no key")
	}
	if _, ok := s.Get(k); ok {
		t.Error("there is an entry under no key")
	}
}
