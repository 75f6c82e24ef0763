package kernels

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"spindle/internal/proc"
	"spindle/internal/store"
)

// makeImage builds a bzImage around a payload, from the boot protocol's
// description.
func makeImage(version string, payload []byte) []byte {
	const sectors, before = 6, 100 // setup sectors, and code before the payload
	data := make([]byte, (sectors+1)*512+before)
	data[0x1f1] = sectors
	binary.LittleEndian.PutUint16(data[0x1fe:], 0xaa55)
	copy(data[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(data[0x206:], 0x20f)
	const text = 0x400
	binary.LittleEndian.PutUint16(data[0x20e:], text-0x200)
	copy(data[text:], version+" (me@here) #1 SMP\x00")
	binary.LittleEndian.PutUint32(data[0x248:], before)
	binary.LittleEndian.PutUint32(data[0x24c:], uint32(len(payload)))
	data = append(data, payload...)
	return append(data, make([]byte, 64)...) // a checksum and a signature follow
}

type note struct {
	name string
	kind uint32
	desc []byte
}

// makeELF builds a program for x86-64 with one segment of notes and some
// content behind it.
func makeELF(machine uint16, notes []note, content []byte) []byte {
	le := binary.LittleEndian
	var n bytes.Buffer
	pad := func() { n.Write(make([]byte, -n.Len()&3)) }
	for _, x := range notes {
		binary.Write(&n, le, []uint32{uint32(len(x.name) + 1), uint32(len(x.desc)), x.kind})
		n.WriteString(x.name + "\x00")
		pad()
		n.Write(x.desc)
		pad()
	}
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01")
	b.Write(make([]byte, 9))
	binary.Write(&b, le, []uint16{2, machine})                       // ET_EXEC
	binary.Write(&b, le, uint32(1))                                  // version
	binary.Write(&b, le, []uint64{0x1000000, 64, 0})                 // entry, program headers, sections
	binary.Write(&b, le, uint32(0))                                  // flags
	binary.Write(&b, le, []uint16{64, 56, 1, 64, 0, 0})              // sizes and counts
	binary.Write(&b, le, []uint32{4, 4})                             // PT_NOTE, readable
	binary.Write(&b, le, []uint64{120, 0, 0})                        // offset, addresses
	binary.Write(&b, le, []uint64{uint64(n.Len()), uint64(n.Len())}) // sizes
	binary.Write(&b, le, uint64(4))                                  // alignment
	b.Write(n.Bytes())
	b.Write(content)
	return b.Bytes()
}

const amd64 = 62 // EM_X86_64

// pvhNote is what CONFIG_PVH puts into arch/x86/platform/pvh/head.S.
var pvhNote = note{"Xen", 18, []byte{0, 0, 0, 1}}

// makeModule builds an object file with nothing but .modinfo.
func makeModule(info string) []byte {
	le := binary.LittleEndian
	strings := "\x00.modinfo\x00.shstrtab\x00"
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01")
	b.Write(make([]byte, 9))
	binary.Write(&b, le, []uint16{1, amd64}) // ET_REL
	binary.Write(&b, le, uint32(1))
	at := uint64(64 + len(info) + len(strings))
	binary.Write(&b, le, []uint64{0, 0, at})
	binary.Write(&b, le, uint32(0))
	binary.Write(&b, le, []uint16{64, 0, 0, 64, 3, 2})
	b.WriteString(info)
	b.WriteString(strings)
	section := func(name, kind uint32, offset, size uint64) {
		binary.Write(&b, le, []uint32{name, kind})
		binary.Write(&b, le, []uint64{0, 0, offset, size})
		binary.Write(&b, le, []uint32{0, 0})
		binary.Write(&b, le, []uint64{1, 0})
	}
	section(0, 0, 0, 0)
	section(1, 1, 64, uint64(len(info)))
	section(10, 3, uint64(64+len(info)), uint64(len(strings)))
	return b.Bytes()
}

// compress has a program compress data, and puts the size behind it as the
// kernel's build does (size_append in scripts/Makefile.lib).
func compress(t *testing.T, data []byte, program string, args ...string) []byte {
	t.Helper()
	out, err := proc.Run(t.Context(), proc.Cmd{Path: program, Args: args, Stdin: bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.AppendUint32(out.Stdout, uint32(len(data)))
}

func put(t *testing.T, data []byte, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
