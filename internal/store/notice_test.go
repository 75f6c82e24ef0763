package store_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"spindle/internal/store"
)

// A wait is told of, once, if it is a long one.
func TestNotice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lane")
	unlock, err := store.Lock(t.Context(), path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	noticed := store.WithNotice(t.Context(), func(path string) { told = append(told, path) })
	ctx, cancel := context.WithTimeout(noticed, 3*time.Second)
	defer cancel()
	if _, err := store.Lock(ctx, path+".lock"); err == nil {
		t.Error("a lock was had twice")
	}
	if len(told) != 1 || told[0] != path {
		t.Errorf("told of %q, want %q once", told, path)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	again, err := store.Lock(noticed, path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer again()
	if len(told) != 1 {
		t.Errorf("told of no wait: %q", told)
	}
}
