package kernels

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
)

// xenPhys32Entry is XEN_ELFNOTE_PHYS32_ENTRY
// (include/xen/interface/elfnote.h), the entry point for PVH that QEMU takes.
const xenPhys32Entry = 18

// hasPVH says whether QEMU can boot this vmlinux by its PVH entry: an ELF for
// x86-64 whose notes name one, as CONFIG_PVH=y gives.
func hasPVH(vmlinux []byte) bool {
	f, err := elf.NewFile(bytes.NewReader(vmlinux))
	if err != nil || f.Machine != elf.EM_X86_64 || f.Type != elf.ET_EXEC {
		return false
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > uint64(len(vmlinux)) {
			continue
		}
		notes, err := io.ReadAll(p.Open())
		if err == nil && hasNote(notes, f.ByteOrder, "Xen", xenPhys32Entry) {
			return true
		}
	}
	return false
}

// hasNote looks for a note in a PT_NOTE segment: sizes of name and content,
// type, name and content, each padded to four bytes.
func hasNote(notes []byte, order binary.ByteOrder, name string, kind uint32) bool {
	for len(notes) >= 12 {
		nameSize, size := int64(order.Uint32(notes)), int64(order.Uint32(notes[4:]))
		k := order.Uint32(notes[8:])
		notes = notes[12:]
		padded := (nameSize + 3) &^ 3
		end := padded + (size+3)&^3
		if padded > int64(len(notes)) || padded+size > int64(len(notes)) {
			return false
		}
		if k == kind && string(bytes.TrimRight(notes[:nameSize], "\x00")) == name {
			return true
		}
		notes = notes[min(end, int64(len(notes))):]
	}
	return false
}
