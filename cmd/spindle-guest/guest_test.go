package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spindle/reports/record"
	"spindle/workloads"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestHandshake(t *testing.T) {
	var out bytes.Buffer
	h := handshake(strings.NewReader("go\n"), &out)
	if err := h.Ready(); err != nil || out.String() != "ready\n" {
		t.Errorf("ready: %v, said %q", err, out.String())
	}
	if err := h.Done(); err != nil || out.String() != "ready\ndone\n" {
		t.Errorf("done: %v, said %q", err, out.String())
	}
	for in, want := range map[string]string{"": "the host hung up", "go": "the host hung up", "stop\n": `the host said "stop"`} {
		if err := handshake(strings.NewReader(in), io.Discard).Ready(); err == nil || err.Error() != want {
			t.Errorf("host says %q: %v, want %s", in, err, want)
		}
	}
}

// A job whose set-up fails says nothing and leaves a result.
func TestJobFails(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/job.json", `{"drive": "no-such-drive", "modules": ["ahci"], "filesystem": "none", "workload": {"dd": {"size": "1MiB"}}, "dir": "`+dir+`/out"}`)
	var out bytes.Buffer
	if err := job(t.Context(), dir+"/job.json", strings.NewReader(""), &out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "out", workloads.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	var r workloads.Result
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	// This host has no list of modules for a guest.
	if out.String() != "" || r.Outcome.Kind != record.Machinery || !strings.Contains(r.Outcome.Detail, "modules.json") {
		t.Errorf("said %q, outcome %+v", out.String(), r.Outcome)
	}
	if err := job(t.Context(), dir+"/none.json", nil, &out); err == nil {
		t.Error("no job file is no error")
	}
	put(t, dir+"/bad.json", `{"drive": 1}`)
	if err := job(t.Context(), dir+"/bad.json", nil, &out); err == nil {
		t.Error("a bad job file is no error")
	}
}

func TestFindPort(t *testing.T) {
	root := t.TempDir()
	put(t, root+"/sys/class/virtio-ports/vport0p1/name", "org.other\n")
	put(t, root+"/sys/class/virtio-ports/vport2p1/name", "org.spindle.ssh\n")
	put(t, root+"/dev/vport0p1", "")
	put(t, root+"/dev/vport2p1", "")
	node, err := findPort(t.Context(), root+"/sys", root+"/dev", "org.spindle.ssh")
	if err != nil || node != root+"/dev/vport2p1" {
		t.Errorf("found %s, %v", node, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := findPort(ctx, root+"/sys", root+"/dev", "org.third"); err == nil {
		t.Error("found a port that is not there")
	}
}

func TestEnding(t *testing.T) {
	for status, want := range map[unix.WaitStatus]string{0: "status 0", 3 << 8: "status 3", 9: "killed by SIGKILL"} {
		if got := ending(status); got != want {
			t.Errorf("ending(%#x) = %q, want %q", status, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	if got := clip("short"); got != "short" {
		t.Errorf("clip = %q", got)
	}
	if got := clip(strings.Repeat("x", 5000)); len(got) > 976 {
		t.Errorf("clip leaves %d bytes", len(got))
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"spindle-guest"}, {"spindle-guest", "dance"}, {"spindle-guest", "job"}, {"spindle-guest", "fsync-tester"}} {
		if code := run(args); code != 2 {
			t.Errorf("%q: status %d, want 2", args, code)
		}
	}
	// The kernel's call for a module that this host's guest list does not have.
	if code := run([]string{"/init", "-q", "--", "fs-nonsense"}); code != 1 {
		t.Errorf("modprobe: status %d, want 1", code)
	}
}
