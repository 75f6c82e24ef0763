package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func key(t *testing.T, fields ...string) Key {
	t.Helper()
	h := NewKey("thing")
	for _, f := range fields {
		h.Field("f", f)
	}
	k, err := h.Sum()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// names lists all below the store but the tag and lock files.
func names(t *testing.T, s *Store) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(s.Dir(), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(s.Dir(), path)
		if rel != "." && rel != "CACHEDIR.TAG" && !strings.HasSuffix(rel, ".lock") {
			out = append(out, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(name, text string) func(context.Context, string) error {
	return func(_ context.Context, dir string) error {
		return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
	}
}

func TestMakeKeepsAnEntry(t *testing.T) {
	s, k := open(t), key(t, "a", "b")
	if _, ok := s.Get(k); ok {
		t.Fatal("entry before it was made")
	}
	dir, err := s.Make(t.Context(), k, write("x", "content"))
	if err != nil {
		t.Fatal(err)
	}
	got, ok := s.Get(k)
	if !ok || got != dir {
		t.Fatalf("Get = %q, %v; Make gave %q", got, ok, dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "x"))
	if err != nil || string(text) != "content" {
		t.Fatalf("content %q, %v", text, err)
	}
	want := []string{"thing", "thing/" + k.Hash(), "thing/" + k.Hash() + "/x", "thing/" + k.Hash() + ".json"}
	if d := cmp.Diff(want, names(t, s)); d != "" {
		t.Error(d)
	}
	again, err := s.Make(t.Context(), k, func(context.Context, string) error {
		return errors.New("built twice")
	})
	if err != nil || again != dir {
		t.Errorf("second Make = %q, %v", again, err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("List = %v, %v", list, err)
	}
	if d := cmp.Diff([]Input{{Name: "f", Value: "a"}, {Name: "f", Value: "b"}}, list[0].Inputs); d != "" {
		t.Error(d)
	}
	if list[0].Dir != dir || list[0].Hash != k.Hash() || list[0].Created.IsZero() {
		t.Errorf("List = %+v", list[0])
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	s, k := open(t), key(t, "a")
	cause := errors.New("no compiler")
	_, err := s.Make(t.Context(), k, func(ctx context.Context, dir string) error {
		os.WriteFile(filepath.Join(dir, "half"), nil, 0o444)
		os.Chmod(dir, 0o555)
		return cause
	})
	if !errors.Is(err, cause) {
		t.Errorf("err = %v", err)
	}
	if d := cmp.Diff([]string{"thing"}, names(t, s)); d != "" {
		t.Error(d)
	}
	if _, err := s.Make(t.Context(), k, write("x", "y")); err != nil {
		t.Error("second try:", err)
	}
}

func TestOneBuilderAmongMany(t *testing.T) {
	s, k := open(t), key(t, "a")
	var built atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		// Each goroutine opens the store for itself, as processes do.
		s, err := Open(s.Dir())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			_, err := s.Make(t.Context(), k, func(ctx context.Context, dir string) error {
				built.Add(1)
				return write("x", fmt.Sprint(i))(ctx, dir)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if built.Load() != 1 {
		t.Errorf("built %d times", built.Load())
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	s, k := open(t), key(t, "a")
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("told to stop")
	_, err := s.Make(t.Context(), k, func(context.Context, string) error {
		cancel(reason)
		_, err := s.Make(ctx, k, write("x", "y")) // waits for the lock that we hold
		return err
	})
	if !errors.Is(err, reason) {
		t.Errorf("err = %v", err)
	}
}

func TestCancelledBuildIsNotKept(t *testing.T) {
	s, k := open(t), key(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Make(ctx, k, func(context.Context, string) error {
		cancel()
		return nil // does not notice
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if d := cmp.Diff([]string{"thing"}, names(t, s)); d != "" {
		t.Error(d)
	}
}
