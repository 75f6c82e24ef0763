package kernels

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"spindle/internal/proc/proctest"
)

func TestParseImage(t *testing.T) {
	good := makeImage("6.12.9-test", []byte("payload"))
	change := func(at int, bytes ...byte) []byte {
		data := append([]byte(nil), good...)
		copy(data[at:], bytes)
		return data
	}
	for _, tt := range []struct {
		name string
		data []byte
		want string // part of the error
	}{
		{"good", good, ""},
		{"empty", nil, "not a bzImage"},
		{"text", []byte(strings.Repeat("no kernel ", 1000)), "not a bzImage"},
		{"ELF", makeELF(amd64, nil, make([]byte, 1000)), "is an ELF file"},
		{"other boot flag", change(0x1fe, 0), "not a bzImage"},
		{"no version", change(0x20e, 0, 0), "does not say its version"},
		{"version off the end", change(0x20e, 0xff, 0xff), "does not say its version"},
		{"version with a slash", change(0x400, []byte("../../x\x00")...), `"../../x"`},
		{"version of dots", change(0x400, []byte("..\x00")...), `".."`},
		{"cut short", good[:len(good)-70], "cut short"},
		{"payload off the end", change(0x24c, 0xff, 0xff, 0xff, 0xff), "cut short"},
	} {
		image, err := parseImage(tt.data)
		switch {
		case err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v", tt.name, err)
		case err == nil && tt.want != "":
			t.Errorf("%s: no error, version %q", tt.name, image.version)
		case err == nil && (image.version != "6.12.9-test" || string(image.payload) != "payload"):
			t.Errorf("%s: version %q, payload %q", tt.name, image.version, image.payload)
		}
	}

	// Before protocol 2.08 (Linux 2.6.26) the fields are not there.
	old := change(0x206, 7, 2)
	if image, err := parseImage(old); err != nil || image.payload != nil {
		t.Errorf("old protocol: %v, %v", image, err)
	}
	// No sectors means four.
	four := change(0x1f1, 0)
	binary.LittleEndian.PutUint32(four[0x248:], 100+2*512)
	if image, err := parseImage(four); err != nil || string(image.payload) != "payload" {
		t.Errorf("four sectors: %v, %v", image, err)
	}
}

// vmlinuxLike is an ELF with content that compresses as code does: some.
func vmlinuxLike() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, 300_000)
	for i := range content {
		content[i] = byte(r.IntN(1 << r.IntN(8)))
	}
	// Calls, which the filter for x86 in xz rewrites.
	for i := 0; i+5 < len(content); i += 50 {
		content[i] = 0xe8
		binary.LittleEndian.PutUint32(content[i+1:], uint32(r.IntN(100_000)))
	}
	return makeELF(amd64, []note{pvhNote}, content)
}

// TestPayload decompresses what the programs made that the kernel's build
// calls, with its options (scripts/Makefile.lib, scripts/xz_wrap.sh).
func TestPayload(t *testing.T) {
	vmlinux := vmlinuxLike()
	for _, tt := range []struct {
		config  string
		program string
		args    []string
	}{
		{"KERNEL_GZIP", "gzip", []string{"-n", "-9"}},
		{"KERNEL_BZIP2", "bzip2", []string{"-9"}},
		{"KERNEL_LZMA", "lzma", []string{"-9"}},
		{"KERNEL_XZ", "xz", []string{"--check=crc32", "--x86", "--lzma2=,dict=32MiB"}},
		{"KERNEL_LZ4", "lz4", []string{"-l", "-9", "-", "-"}},
		{"KERNEL_ZSTD", "zstd", []string{"-22", "--ultra", "-q", "-c"}},
	} {
		t.Run(tt.config, func(t *testing.T) {
			proctest.Need(t, tt.program)
			payload := compress(t, vmlinux, tt.program, tt.args...)
			if tt.program == "gzip" {
				payload = payload[:len(payload)-4] // its own trailer has the size
			}
			image, err := parseImage(makeImage("6.1", payload))
			if err != nil {
				t.Fatal(err)
			}
			got, err := image.vmlinux(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, vmlinux) {
				t.Fatalf("%d bytes that are not the %d of the kernel", len(got), len(vmlinux))
			}

			for what, p := range map[string][]byte{
				"cut":        append(bytes.Clone(payload[:len(payload)/2]), payload[len(payload)-4:]...),
				"wrong size": append(bytes.Clone(payload[:len(payload)-4]), 1, 2, 3, 0),
			} {
				image.payload = p
				if got, err := image.vmlinux(t.Context()); err == nil {
					t.Errorf("%s: no error, %d bytes", what, len(got))
				}
			}
		})
	}

	for what, payload := range map[string][]byte{
		"LZO":     []byte("\x89LZO\x00\x0d\x0a\x1a\x0a and more"),
		"nothing": nil,
		"short":   []byte("\x1f\x8b"),
	} {
		image := &bzImage{payload: payload}
		if got, err := image.vmlinux(t.Context()); got != nil || err != nil {
			t.Errorf("%s: %d bytes, %v; want to boot the bzImage", what, len(got), err)
		}
	}
	plain := append(bytes.Clone(vmlinux), 0, 0, 0, 0)
	if got, err := (&bzImage{payload: plain}).vmlinux(t.Context()); err != nil || !bytes.Equal(got, vmlinux) {
		t.Errorf("not compressed: %d bytes, %v", len(got), err)
	}
}

func TestHasPVH(t *testing.T) {
	other := note{"GNU", 3, make([]byte, 20)}
	odd := note{"Xen", 5, []byte("linux")}
	for _, tt := range []struct {
		name string
		elf  []byte
		want bool
	}{
		{"alone", makeELF(amd64, []note{pvhNote}, nil), true},
		{"among others", makeELF(amd64, []note{other, odd, pvhNote, other}, nil), true},
		{"others only", makeELF(amd64, []note{other, odd}, nil), false},
		{"another's note of that number", makeELF(amd64, []note{{"Abc", 18, []byte{0, 0, 0, 1}}}, nil), false},
		{"none", makeELF(amd64, nil, nil), false},
		{"for 32 bits of another machine", makeELF(3, []note{pvhNote}, nil), false},
		{"no ELF", []byte("not an ELF file, but as long as the header of one would be, or even longer"), false},
		{"empty", nil, false},
	} {
		if got := hasPVH(tt.elf); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	whole := makeELF(amd64, []note{other, pvhNote}, nil)
	for n := range whole {
		hasPVH(whole[:n]) // must not panic
	}
}

func FuzzImage(f *testing.F) {
	elf := makeELF(amd64, []note{pvhNote}, []byte("IKCFG_ST\x1f\x8b"))
	f.Add(makeImage("6.1", append(elf, 0, 0, 0, 0)))
	f.Add(makeImage("6.1", []byte("\x28\xb5\x2f\xfd\x00\x00\x00\x00\x00\x00\x00\x00")))
	f.Add(makeImage("6.1", []byte("\x02\x21\x4c\x18\x00\x00\x00\x00\x00\x00\x00\x00")))
	f.Add(makeImage("6.1", []byte("\x5d\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")))
	f.Fuzz(func(t *testing.T, data []byte) {
		image, err := parseImage(data)
		if err != nil {
			return
		}
		if image.version == "" || strings.ContainsAny(image.version, "/ \n\x00") {
			t.Fatalf("version %q", image.version)
		}
		if bytes.HasPrefix(image.payload, []byte("\xfd7zXZ\x00")) {
			return // would start a program
		}
		if p := image.payload; len(p) >= 4 && binary.LittleEndian.Uint32(p[len(p)-4:]) > 1<<20 {
			return // would only be slow
		}
		vmlinux, err := image.vmlinux(t.Context())
		if err == nil {
			hasPVH(vmlinux)
			embeddedConfig(vmlinux)
		}
	})
}
