package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"spindle/internal/proc/proctest"
	"spindle/internal/store/storetest"
)

// TestBootScript runs the scripts with real guests. They have the store and the
// apt root of the user's own cache, so that kernels and images are made once;
// temporary files stay in $WORK/cache. Commands beside those of TestScript:
//
//	await PATTERN    wait until a file matches
//	nothing-left     no process, mount or temporary directory of the script's
func TestBootScript(t *testing.T) {
	if testing.Short() {
		t.Skip("boots guests: not with -short")
	}
	proctest.Need(t, "qemu-system-x86_64", "mmdebstrap", "mksquashfs", "apt-get", "dpkg-deb", "depmod", "go")
	shared, _ := storetest.User(t)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	p := script(t, "testdata/boot")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		env.Setenv("HOME", home) // go builds the guest's program, with a cache of its own
		for _, part := range []string{"store", "apt"} {
			own := filepath.Join(env.WorkDir, "cache", part)
			if err := errors.Join(os.MkdirAll(filepath.Join(shared, part), 0o755), os.MkdirAll(filepath.Dir(own), 0o755)); err != nil {
				return err
			}
			if err := os.Symlink(filepath.Join(shared, part), own); err != nil {
				return err
			}
		}
		return nil
	}
	p.Cmds["await"], p.Cmds["nothing-left"] = await, nothingLeft
	testscript.Run(t, p)
}

// await waits until there is a file that matches the pattern.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await PATTERN")
	}
	for began := time.Now(); time.Since(began) < 5*time.Minute; time.Sleep(20 * time.Millisecond) {
		if found, err := filepath.Glob(ts.MkAbs(args[0])); err != nil || len(found) > 0 {
			ts.Check(err)
			return
		}
	}
	ts.Fatalf("no %s after 5 minutes", args[0])
}

// nothingLeft fails unless, within a few seconds, no process works on files of
// the script and no temporary directory of a sample is there.
func nothingLeft(ts *testscript.TestScript, neg bool, args []string) {
	work := ts.Getenv("WORK")
	var left []string
	for range 50 {
		left, _ = filepath.Glob(filepath.Join(work, "cache", "tmp", "*"))
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range lines {
			// The test itself has the directory in no argument.
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), work) {
				left = append(left, strings.ReplaceAll(string(text), "\x00", " "))
			}
		}
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		ts.Check(err)
		if strings.Contains(string(mounts), work) {
			left = append(left, "a mount")
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("still there: %s", strings.Join(left, "\n"))
}
