package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"spindle/internal/host"
	"spindle/internal/proc"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"spindle": main})
}

// TestScript runs the tool as a program of its own, one script a behaviour.
// Beside testscript's commands there are:
//
//	exits CODE PROGRAM [ARG...]  exec, with that exit code
//	fake DIR PROGRAM...          programs that append their name and arguments
//	                             to $WORK/calls and do nothing else
//	bzimage FILE VERSION         a bzImage that says its version, and cannot boot
//	record DIR                   a run directory with finished samples and some to do
//	done DIR                     a run directory with nothing to do
//	nights DIR N                 run directories DIR/0 to DIR/N-1, a day apart, slower from the sixth on
//	measured DIR N               the run that a series' directory lacks, in which patch N is slower
//
// and the conditions [apt] (doctor can install here), [keyring] (this host has
// the keys of Debian's archive), [kvm] (/dev/kvm opens) and [root]. The cache directory is $WORK/cache,
// which is not there at first, and the tool is $SPINDLE, whatever the PATH.
func TestScript(t *testing.T) { testscript.Run(t, script(t, "testdata")) }

func script(t *testing.T, dir string) testscript.Params {
	t.Helper()
	tool, err := proc.LookPath("spindle")
	if err != nil {
		t.Fatal(err)
	}
	plans, err := filepath.Abs("../../pipeline/plans")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SPINDLE_CACHE", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("SPINDLE", tool)
			env.Setenv("PLANS", plans)
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "fake": fake, "bzimage": bzimage, "record": recordRun, "done": doneRun,
			"nights": nightRuns, "measured": measuredSeries,
		},
	}
}

func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Getuid() == 0, nil
	case "kvm":
		f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return err == nil, nil
	case "keyring":
		_, err := os.Stat(host.Keyring)
		return err == nil, nil
	case "apt":
		r, err := host.Look(context.Background(), host.Env{UID: os.Getuid(), CacheDir: os.TempDir()})
		return r.CanInstall(), err
	}
	return false, fmt.Errorf("unknown condition %s", name)
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit interface{ ExitCode() int }
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func fake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fake DIR PROGRAM...")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	for _, name := range args[1:] {
		text := fmt.Sprintf("#!/bin/sh\necho %s \"$*\" >>%s\n", name, ts.MkAbs("calls"))
		ts.Check(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777))
	}
}

// bzimage writes what the boot protocol (Documentation/arch/x86/boot.rst)
// wants of a header, version 2.07: later ones also say where the kernel is.
func bzimage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bzimage FILE VERSION")
	}
	const text = 0x400 // where the version stands
	data := make([]byte, 8*512)
	data[0x1f1] = 4 // sectors of setup code
	binary.LittleEndian.PutUint16(data[0x1fe:], 0xaa55)
	copy(data[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(data[0x206:], 0x207)
	binary.LittleEndian.PutUint16(data[0x20e:], text-0x200)
	copy(data[text:], args[1]+" (me@here) #1 SMP\x00")
	file := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o777))
	ts.Check(os.WriteFile(file, data, 0o666))
}
