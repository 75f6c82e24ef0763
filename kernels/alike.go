package kernels

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// Alike gives a hash that two kernels share if they differ in nothing but
// their names: the same code, data, configuration and modules, built from trees
// that differ elsewhere (documentation, another architecture). [Artifact.Hash]
// tells such kernels apart, since git's id of the tree is in uname -v and the
// build id follows from all bytes; here both count as blank.
//
// A kernel that was not built here, or whose image has no ELF form, has its own
// Hash.
func (a Artifact) Alike() (string, error) {
	if a.Build == nil || len(a.Build.Tree) < treeDigits || a.Boot == filepath.Join(a.Dir, "bzImage") {
		return a.Hash, nil
	}
	image, err := os.ReadFile(a.Boot)
	if err != nil {
		return "", fmt.Errorf("compare kernel: %w", err)
	}
	id, err := buildID(image)
	if err != nil {
		return a.Hash, nil
	}
	blank(image, []byte(a.Build.Tree[:treeDigits]))
	blank(image, id)
	h := sha256.New()
	fmt.Fprintf(h, "image %x\n", sha256.Sum256(image))
	config, err := os.ReadFile(a.Config)
	if err != nil {
		return "", fmt.Errorf("compare kernel: %w", err)
	}
	fmt.Fprintf(h, "config %x\n", sha256.Sum256(config))
	if a.Modules != "" {
		names, err := moduleFiles(a.ModuleDir())
		if err != nil {
			return "", fmt.Errorf("compare kernel: %w", err)
		}
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(a.ModuleDir(), name))
			if err != nil {
				return "", fmt.Errorf("compare kernel: %w", err)
			}
			fmt.Fprintf(h, "%s %x\n", name, sha256.Sum256(text))
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// treeDigits is how much of the tree's id a build puts into uname -v.
const treeDigits = 12

func blank(image, text []byte) {
	if len(text) == 0 {
		return
	}
	for at := 0; ; {
		i := bytes.Index(image[at:], text)
		if i < 0 {
			return
		}
		clear(image[at+i : at+i+len(text)])
		at += i + len(text)
	}
}

// buildID gives the build id in an ELF image's notes; nil if it has none. The
// form of notes is in elf(5).
func buildID(image []byte) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	const typeBuildID = 3 // NT_GNU_BUILD_ID
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > uint64(len(image)) || p.Off > uint64(len(image))-p.Filesz {
			continue
		}
		notes := image[p.Off : p.Off+p.Filesz]
		for len(notes) >= 12 {
			name, desc, kind := int(f.ByteOrder.Uint32(notes)), int(f.ByteOrder.Uint32(notes[4:])), f.ByteOrder.Uint32(notes[8:])
			notes = notes[12:]
			begin, end := pad4(name), pad4(name)+pad4(desc)
			if name < 0 || desc < 0 || begin+desc > len(notes) {
				break
			}
			if kind == typeBuildID && name == 4 && string(notes[:4]) == "GNU\x00" {
				return notes[begin : begin+desc : begin+desc], nil
			}
			notes = notes[min(end, len(notes)):]
		}
	}
	return nil, nil
}

func pad4(n int) int { return (n + 3) &^ 3 }
