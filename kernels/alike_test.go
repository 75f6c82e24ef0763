package kernels

import (
	"os"
	"path/filepath"
	"testing"
)

// named is an ELF image with a build id among its notes.
func named(buildID, text string) []byte {
	return makeELF(amd64, []note{pvhNote, {"GNU", 3, []byte(buildID)}}, []byte(text))
}

func TestAlike(t *testing.T) {
	const one, two = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	make := func(tree, id, text, config string) Artifact {
		dir := t.TempDir()
		a := Artifact{Dir: dir, Boot: filepath.Join(dir, "vmlinux"), Config: filepath.Join(dir, "config"), Hash: tree, Build: &Build{Tree: tree}}
		for name, data := range map[string][]byte{"vmlinux": named(id, text), "config": []byte(config)} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return a
	}
	banner := func(tree string) string { return "code Linux version 6.12 #" + tree[:12] + " SMP more code" }
	base := make(one, "abcdefghijklmnopqrst", banner(one), "CONFIG_X=y\n")
	want, err := base.Alike()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		a    Artifact
		same bool
	}{
		{"itself", make(one, "abcdefghijklmnopqrst", banner(one), "CONFIG_X=y\n"), true},
		{"another name", make(two, "tsrqponmlkjihgfedcba", banner(two), "CONFIG_X=y\n"), true},
		{"other code", make(two, "tsrqponmlkjihgfedcba", banner(two)+"!", "CONFIG_X=y\n"), false},
		{"other configuration", make(two, "tsrqponmlkjihgfedcba", banner(two), "CONFIG_X=n\n"), false},
	} {
		got, err := test.a.Alike()
		if err != nil || (got == want) != test.same {
			t.Errorf("%s: %s, %v; the first is %s", test.name, got, err, want)
		}
	}
	// What is no ELF file, or was built elsewhere, is like itself alone.
	base.Build = nil
	if got, err := base.Alike(); err != nil || got != base.Hash {
		t.Errorf("built elsewhere: %s, %v", got, err)
	}
}

func FuzzBuildID(f *testing.F) {
	f.Add(named("abcdefghijklmnopqrst", "text"))
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, image []byte) {
		id, err := buildID(image)
		if err == nil && len(id) > len(image) {
			t.Error("longer than the image")
		}
	})
}
