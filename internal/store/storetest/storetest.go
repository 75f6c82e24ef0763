// Package storetest opens the user's own store for tests that boot guests, so that
// kernels and images are made once, not at every run of the tests.
//
// It promises the store that spindle itself would use, $SPINDLE_CACHE/store or that
// in the user's cache directory. Tests that look at what is made or kept need one of
// their own.
package storetest

import (
	"os"
	"path/filepath"
	"testing"

	"spindle/internal/store"
)

// User gives the user's cache directory of spindle and the store in it.
func User(t testing.TB) (cache string, s *store.Store) {
	t.Helper()
	cache = os.Getenv("SPINDLE_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(dir, "spindle")
	}
	s, err := store.Open(filepath.Join(cache, "store"))
	if err != nil {
		t.Fatal(err)
	}
	return cache, s
}
