package uml_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkHostCost is what the three things take on the host that uml.Cost has
// a time for: the source of uml.DefaultCost.
func BenchmarkHostCost(b *testing.B) {
	const page = 4096
	b.Run("syscall", func(b *testing.B) {
		for b.Loop() {
			unix.Getppid()
		}
	})
	b.Run("fault", func(b *testing.B) {
		const pages = 4096
		var m []byte
		at := pages
		for b.Loop() {
			if at == pages {
				b.StopTimer()
				if m != nil {
					unix.Munmap(m)
				}
				var err error
				if m, err = unix.Mmap(-1, 0, pages*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
					b.Fatal(err)
				}
				unix.Madvise(m, unix.MADV_NOHUGEPAGE)
				at = 0
				b.StartTimer()
			}
			m[at*page] = 1
			at++
		}
	})
	b.Run("copy", func(b *testing.B) {
		// As dd does: a MiB into the page cache, to pages that are not in the CPU's
		// caches.
		const file, chunk = 256 << 20, 1 << 20
		fd, err := unix.MemfdCreate("cost", unix.MFD_CLOEXEC)
		if err != nil {
			b.Fatal(err)
		}
		defer unix.Close(fd)
		buf := make([]byte, chunk)
		for off := int64(0); off < file; off += chunk {
			unix.Pwrite(fd, buf, off)
		}
		off := int64(0)
		b.SetBytes(chunk)
		for b.Loop() {
			if _, err := unix.Pwrite(fd, buf, off); err != nil {
				b.Fatal(err)
			}
			off = (off + chunk) % file
		}
	})
}
