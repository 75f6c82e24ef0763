package machine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/pipeline/machine"
)

// A console as a kernel that panics leaves it, with a line that is longer than
// what is looked at, one of user space that quotes the kernel, and no line feed
// at its end.
func TestScan(t *testing.T) {
	path := filepath.Join(t.TempDir(), machine.ConsoleLog)
	text := "[    0.000000] Linux version 6.12\n" +
		"[    0.100000] spindle: init v1, BUG: is no word of the kernel's here\n" +
		strings.Repeat("x", 10000) + "\n" +
		"[   12.345678] INFO: task dd:233 blocked for more than 120 seconds.\n" +
		"[   13.000000] spindle: fatal: job ended: status 1\n" +
		"[   13.100000] Kernel panic - not syncing: Attempted to kill init!"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := machine.Scan(path)
	if err != nil {
		t.Fatal(err)
	}
	want := machine.Said{
		Lines: 6, Fatal: "job ended: status 1", FatalLine: 5,
		Findings: []machine.Finding{
			{Reason: machine.Hang, Line: 4, Text: "INFO: task dd:233 blocked for more than 120 seconds."},
			{Reason: machine.Panic, Line: 6, Text: "Kernel panic - not syncing: Attempted to kill init!"},
		},
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	if f, ok := said.First(machine.Panic); !ok || f.Line != 6 {
		t.Errorf("first panic %+v, %v", f, ok)
	}
	if _, ok := said.First(machine.Oops); ok {
		t.Error("found an oops")
	}
	e := machine.End(machine.Panic, "it panicked", 6, "", path, said)
	if e.Kind != fault.Kernel || !strings.Contains(e.Tail, "not syncing") || len(e.Findings) != 2 || e.Err() == nil {
		t.Errorf("ending %+v", e)
	}
	if _, err := machine.Scan(path + ".gone"); err == nil {
		t.Error("no error without a log")
	}
}
