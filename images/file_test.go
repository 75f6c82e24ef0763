package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

// An image of somebody else's is taken as it is, and what dpkg says of it read.
func TestFromFile(t *testing.T) {
	proctest.Need(t, "mksquashfs", "unsquashfs")
	tree := t.TempDir()
	status := "Package: dash\nStatus: install ok installed\nVersion: 0.5.12-12\n\nPackage: gone\nStatus: deinstall ok config-files\nVersion: 1\n"
	put(t, []byte(status), tree, statusFile)
	file := filepath.Join(t.TempDir(), "mine.squashfs")
	if _, err := proc.Run(t.Context(), proc.Cmd{Path: "mksquashfs", Args: []string{tree, file, "-quiet", "-no-progress"}}); err != nil {
		t.Fatal(err)
	}
	env := Env{Store: openStore(t)}
	image, err := Make(t.Context(), env, Spec{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"dash": "0.5.12-12"}, image.Packages); d != "" {
		t.Error(d)
	}
	sum, _, err := hashFile(file)
	if err != nil || image.Hash != sum {
		t.Errorf("hash %s, want %s, %v", image.Hash, sum, err)
	}
	// The copy is the run's, whatever becomes of the file.
	os.Remove(file)
	if got, _, err := hashFile(image.Root); err != nil || got != sum {
		t.Errorf("copy has %s, %v", got, err)
	}
}

func TestFromFileRefuses(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	put(t, []byte("hello"), filepath.Dir(text), "text")
	for file, want := range map[string]string{"/nowhere/at/all": "not there", text: "not a squashfs"} {
		_, err := Make(t.Context(), Env{Store: openStore(t)}, Spec{File: file})
		if fault.Of(err) != fault.Plan || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
