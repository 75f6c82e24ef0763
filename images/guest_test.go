package images

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/internal/progress"
)

// module writes a program and a package that it uses.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, []byte("module guest.test\n\ngo 1.21\n"), dir, "go.mod")
	put(t, []byte("package main\n\nimport \"guest.test/word\"\n\nfunc main() { println(word.Word()) }\n"), dir, "cmd/spindle-guest/main.go")
	put(t, []byte("package word\n\nfunc Word() string { return inner() }\n\n//go:noinline\nfunc inner() string { return \"one\" }\n"), dir, "word/word.go")
	return dir
}

func TestBuildGuest(t *testing.T) {
	proctest.Need(t, "go")
	var said bytes.Buffer
	dir := module(t)
	env := Env{Store: openStore(t), Log: progress.New(&said, false, time.Now), Source: dir, Executable: filepath.Join(t.TempDir(), "spindle")}
	says := func(path string) string {
		t.Helper()
		out, err := proc.Run(t.Context(), proc.Cmd{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out.Stderr))
	}
	path, hash, err := GuestBinary(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	if got := says(path); got != "one" {
		t.Errorf("it says %q", got)
	}
	text, err := os.ReadFile(path)
	if err != nil || bytes.Contains(text, []byte(dir)) {
		t.Errorf("the place of its source is in it, %v", err)
	}
	if again, sum, err := GuestBinary(t.Context(), env); err != nil || again != path || sum != hash {
		t.Errorf("again: %s, %v", again, err)
	}
	if n := strings.Count(said.String(), "building"); n != 1 {
		t.Errorf("built %d times", n)
	}

	// Deep in what it imports, and behind an unchanged interface.
	put(t, []byte("package word\n\nfunc Word() string { return inner() }\n\n//go:noinline\nfunc inner() string { return \"two\" }\n"), dir, "word/word.go")
	changed, sum, err := GuestBinary(t.Context(), env)
	if err != nil || changed == path || sum == hash {
		t.Fatalf("changed: %s, %v", changed, err)
	}
	if got := says(changed); got != "two" {
		t.Errorf("it says %q", got)
	}

	// The same source elsewhere gives the same bytes.
	env.Source, env.Store = module(t), openStore(t)
	if _, sum, err := GuestBinary(t.Context(), env); err != nil || sum != hash {
		t.Errorf("elsewhere: %s, %v; want %s", sum, err, hash)
	}

	put(t, []byte("package word\n\nfunc Word() string { return 5 }\n"), env.Source, "word/word.go")
	if _, _, err := GuestBinary(t.Context(), env); err == nil || !strings.Contains(err.Error(), "word.go:3") {
		t.Errorf("what the compiler says is not in: %v", err)
	}

	beside := put(t, text, filepath.Dir(env.Executable), "spindle-guest")
	if got, sum, err := GuestBinary(t.Context(), env); err != nil || got != beside || sum != hash {
		t.Errorf("beside: %s, %v", got, err)
	}
}

// A program beside spindle that could not run in a guest is passed over where
// another can be built, and without the go tool the hint says how to build it.
func TestGuestBinaryPassedOver(t *testing.T) {
	proctest.Need(t, "go", "sh")
	sh, err := proc.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(sh)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	env := Env{Store: openStore(t), Log: progress.New(&said, false, time.Now), Source: module(t), Executable: filepath.Join(t.TempDir(), "spindle")}
	beside := put(t, text, filepath.Dir(env.Executable), "spindle-guest")
	path, _, err := GuestBinary(t.Context(), env)
	if err != nil || path == beside {
		t.Fatalf("%s, %v", path, err)
	}
	if !strings.Contains(said.String(), "needs a dynamic linker") {
		t.Errorf("it said %q", said.String())
	}

	t.Setenv("PATH", t.TempDir())
	if _, _, err := GuestBinary(t.Context(), env); err == nil || !strings.Contains(err.Error(), "no go tool") || !strings.Contains(fault.Hint(err), "CGO_ENABLED=0 go build") {
		t.Errorf("without go: %v, hint %q", err, fault.Hint(err))
	}
}

func TestGuestBinaryErrors(t *testing.T) {
	proctest.Need(t, "sh")
	env := Env{Store: openStore(t), Executable: filepath.Join(t.TempDir(), "spindle"), Source: t.TempDir()}
	if _, _, err := GuestBinary(t.Context(), env); fault.Hint(err) == "" {
		t.Errorf("no source: %v", err)
	}
	put(t, []byte("#!/bin/sh\n"), filepath.Dir(env.Executable), "spindle-guest")
	if _, _, err := GuestBinary(t.Context(), env); err == nil || !strings.Contains(err.Error(), "and no source to build it from") || !strings.Contains(fault.Hint(err), "CGO_ENABLED=0 go build") {
		t.Errorf("a script is no program for an initramfs: %v, hint %q", err, fault.Hint(err))
	}
	sh, err := proc.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := static(sh); err == nil || !strings.Contains(err.Error(), "dynamic linker") {
		t.Errorf("%s: %v", sh, err)
	}
}

func TestCompiledFrom(t *testing.T) {
	dir := compiledFrom()
	if dir == "" {
		t.Skip("compiled with -trimpath")
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !strings.HasPrefix(string(text), "module spindle\n") {
		t.Errorf("%s: %q, %v", dir, text, err)
	}
}
