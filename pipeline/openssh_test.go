package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spindle/pipeline/guest"
	"spindle/reports/record"
)

// A guest whose SSH server is its image's OpenSSH gives the same sample; and an
// image in a file is as good as one that was made here.
func TestOpenSSH(t *testing.T) {
	env, _, _ := booting(t)
	made := mustLoad(t, bootPlan+"image: {ssh: openssh}\n")
	first, err := Prepare(t.Context(), env, made)
	if err != nil {
		t.Fatal(err)
	}
	if first.Image.Packages["openssh-server"] == "" {
		t.Errorf("image has no openssh-server: %v", first.Image.Packages)
	}
	p := mustLoad(t, bootPlan+"image: {ssh: openssh, file: "+first.Image.Root+"}\n")
	kit, err := Prepare(t.Context(), env, p)
	if err != nil {
		t.Fatal(err)
	}
	cell := record.Cell{Arm: "base", Condition: p.Grid()[0]}
	dir := filepath.Join(t.TempDir(), "sample")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := carryOut(t.Context(), env, kit, p, 1, cell, dir)
	if err != nil || s.Outcome.Kind != record.OK || len(s.Metrics) == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if got, want := s.Programs["dd"], "coreutils "+first.Image.Packages["coreutils"]; got != want {
		t.Errorf("dd is %q, want %q", got, want)
	}

	var r rig
	defer r.Close()
	if err := r.bringUp(t.Context(), env, kit, p, 1, cell, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	res, err := r.guest.Run(t.Context(), guest.Command{Line: "cat /proc/$PPID/comm; echo oops >&2; exit 7"})
	if err != nil || !strings.HasPrefix(string(res.Stdout), "sshd") || string(res.Stderr) != "oops\n" || res.Status != 7 {
		t.Errorf("%q, %q, status %d, %v", res.Stdout, res.Stderr, res.Status, err)
	}
}
