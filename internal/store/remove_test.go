package store

import (
	"os"
	"testing"
	"time"
)

func TestRemove(t *testing.T) {
	s := open(t)
	for _, name := range []string{"kept", "used", "busy", "gone"} {
		if _, err := s.Make(t.Context(), key(t, name), write("x", name)); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-time.Hour)
	all, err := s.List()
	if err != nil || len(all) != 4 {
		t.Fatalf("%v, %v", all, err)
	}
	for i, e := range all {
		if err := os.Chtimes(e.Dir+".json", past, past); err != nil {
			t.Fatal(err)
		}
		all[i].Used = past
	}
	if dir, ok := s.Get(key(t, "used")); !ok {
		t.Fatal(dir)
	}
	unlock, err := Lock(t.Context(), s.path(key(t, "busy"))+".lock")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Hash == key(t, "kept").Hash() {
			continue
		}
		removed, err := s.Remove(t.Context(), e)
		if err != nil || removed != (e.Hash == key(t, "gone").Hash()) {
			t.Errorf("%s: %v, %v", e.Inputs[0].Value, removed, err)
		}
	}
	unlock()
	left, err := s.List()
	if err != nil || len(left) != 3 {
		t.Errorf("left are %v, %v", left, err)
	}
	if n := len(names(t, s)); n != 1+3*3 {
		t.Errorf("%d names: %v", n, names(t, s))
	}
	// What was removed is made again.
	if dir, err := s.Make(t.Context(), key(t, "gone"), write("x", "again")); err != nil {
		t.Errorf("%s, %v", dir, err)
	}
	if n, err := left[0].Size(); err != nil || n < 4096 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
