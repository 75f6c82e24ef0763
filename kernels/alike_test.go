package kernels

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// elfImage is an ELF file with one segment of notes, which holds a build id
// after another note, and then text.
func elfImage(buildID, text string) []byte {
	var notes bytes.Buffer
	note := func(name string, kind uint32, desc string) {
		binary.Write(&notes, binary.LittleEndian, []uint32{uint32(len(name)), uint32(len(desc)), kind})
		for _, s := range []string{name, desc} {
			notes.WriteString(s)
			notes.Write(make([]byte, pad4(len(s))-len(s)))
		}
	}
	note("Xen\x00", 18, "12345")
	note("GNU\x00", 3, buildID)
	const head, entry = 64, 56
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9))
	binary.Write(&b, binary.LittleEndian, []uint16{2, 62})
	binary.Write(&b, binary.LittleEndian, uint32(1))
	binary.Write(&b, binary.LittleEndian, []uint64{0, head, 0})
	binary.Write(&b, binary.LittleEndian, uint32(0))
	binary.Write(&b, binary.LittleEndian, []uint16{head, entry, 1, 64, 0, 0})
	binary.Write(&b, binary.LittleEndian, []uint32{4, 4}) // PT_NOTE
	size := uint64(notes.Len())
	binary.Write(&b, binary.LittleEndian, []uint64{head + entry, 0, 0, size, size, 4})
	b.Write(notes.Bytes())
	b.WriteString(text)
	return b.Bytes()
}

func TestAlike(t *testing.T) {
	const one, two = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	make := func(tree, id, text, config string) Artifact {
		dir := t.TempDir()
		a := Artifact{Dir: dir, Boot: filepath.Join(dir, "vmlinux"), Config: filepath.Join(dir, "config"), Hash: tree, Build: &Build{Tree: tree}}
		for name, data := range map[string][]byte{"vmlinux": elfImage(id, text), "config": []byte(config)} {
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
	f.Add(elfImage("abcdefghijklmnopqrst", "text"))
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, image []byte) {
		id, err := buildID(image)
		if err == nil && len(id) > len(image) {
			t.Error("longer than the image")
		}
	})
}
