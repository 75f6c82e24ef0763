package sparse

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
)

func open1(t testing.TB, path string, size int64) *File {
	t.Helper()
	f, err := Open(path, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func allocated(t *testing.T, f *File) int64 {
	t.Helper()
	n, err := f.Allocated()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Random operations against a plain byte slice.
func TestAgainstMemory(t *testing.T) {
	const size = 1 << 20
	for _, path := range []string{"", t.TempDir(), filepath.Join(t.TempDir(), "named")} {
		f := open1(t, path, size)
		want := make([]byte, size)
		r := rand.New(rand.NewPCG(1, 2))
		check := func(off, n int64) {
			t.Helper()
			got := make([]byte, n)
			if err := f.ReadAt(got, off); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want[off:off+n]) {
				t.Fatalf("content differs in [%d, %d)", off, off+n)
			}
		}
		for range 700 {
			off := r.Int64N(size/512) * 512
			n := min(r.Int64N(200)*512+512, size-off)
			switch r.IntN(3) {
			case 0:
				if err := f.Zero(off, n); err != nil {
					t.Fatal(err)
				}
				clear(want[off : off+n])
			default:
				p := make([]byte, n) // zeros with islands
				for range r.IntN(6) {
					p[r.IntN(len(p))] = byte(r.Uint32())
				}
				if err := f.WriteAt(p, off); err != nil {
					t.Fatal(err)
				}
				copy(want[off:], p)
			}
			check(off, n)
		}
		check(0, size)
	}
}

func TestZerosCostNothing(t *testing.T) {
	for _, path := range []string{"", t.TempDir()} {
		f := open1(t, path, 500e9)
		if err := f.WriteAt(make([]byte, 8<<20), 400e9); err != nil {
			t.Fatal(err)
		}
		if n := allocated(t, f); n != 0 {
			t.Errorf("%q: zeros over a hole take %d bytes", path, n)
		}
		if err := f.ReadAt(make([]byte, 8<<20), 300e9); err != nil {
			t.Fatal(err)
		}
		if n := allocated(t, f); n != 0 {
			t.Errorf("%q: reading a hole takes %d bytes", path, n)
		}
		full := bytes.Repeat([]byte{1}, 1<<20)
		if err := f.WriteAt(full, 1<<30); err != nil {
			t.Fatal(err)
		}
		before := allocated(t, f)
		if before < 1<<20 {
			t.Fatalf("%q: 1 MiB of data takes %d bytes", path, before)
		}
		if err := f.WriteAt(make([]byte, 1<<20), 1<<30); err != nil {
			t.Fatal(err)
		}
		if n := allocated(t, f); n > before-1<<20 {
			t.Errorf("%q: after zeros over 1 MiB of data %d bytes stay, before %d", path, n, before)
		}
		// Data with a stretch of zeros inside.
		clear(full[256<<10 : 768<<10])
		if err := f.WriteAt(full, 2<<30); err != nil {
			t.Fatal(err)
		}
		if n := allocated(t, f); n > 600<<10 {
			t.Errorf("%q: 512 KiB of data around zeros take %d bytes", path, n)
		}
	}
}

func TestKeepsContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	f := open1(t, path, 1<<20)
	if err := f.WriteAt([]byte("hello"), 4096); err != nil {
		t.Fatal(err)
	}
	f.Close()
	f = open1(t, path, 2<<20)
	got := make([]byte, 5)
	if err := f.ReadAt(got, 4096); err != nil || string(got) != "hello" {
		t.Errorf("read back %q, %v", got, err)
	}
	if _, err := Open(path, 1<<20); err == nil {
		t.Error("a file larger than the drive was taken")
	}
}

func TestUnnamedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f := open1(t, dir, 1<<20)
	if err := f.WriteAt([]byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("directory holds %v, %v", entries, err)
	}
}

// A full file system is named, kept, and the machinery's fault.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mount a small tmpfs: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	path := filepath.Join(dir, "disk")
	f := open1(t, path, 1<<30)
	if err := f.WriteAt(make([]byte, 64<<20), 0); err != nil {
		t.Fatalf("zeros: %v", err)
	}
	err := f.WriteAt(bytes.Repeat([]byte{1}, 2<<20), 0)
	if want := "backing: write " + path + ": no space left on device"; err == nil || err.Error() != want {
		t.Fatalf("error %v, want %s", err, want)
	}
	if err := f.WriteAt([]byte("y"), 512<<20); err == nil {
		t.Error("a second write found space")
	}
	if kept := f.Err(); kept != err || !errors.Is(kept, unix.ENOSPC) || fault.Of(kept) != fault.Machinery || fault.Hint(kept) == "" {
		t.Errorf("Err = %v (%v, hint %q), want the first failure", kept, fault.Of(kept), fault.Hint(kept))
	}
}

func BenchmarkZeros(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20} {
		b.Run(map[bool]string{true: "1MiB", false: "4KiB"}[size > 4<<10], func(b *testing.B) {
			f := open1(b, b.TempDir(), 500e9)
			p := make([]byte, size)
			b.SetBytes(int64(size))
			for i := range b.N {
				if err := f.WriteAt(p, int64(i%100000)*int64(size)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
