package images

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/u-root/u-root/pkg/cpio"
)

// File is a file of an initramfs.
type File struct {
	Name string // path from the root, without the slash before it
	Mode uint32 // permission bits; 0 is 0644
	Data []byte
}

// AppendCpio writes files, and the directories that they are in, as an archive
// that the kernel reads as part of an initramfs
// (Documentation/driver-api/early-userspace/buffer-format.rst): after another
// such archive if that was written by this function, or ends at a multiple of
// four bytes. Equal files give equal bytes; owners are root, times are zero.
func AppendCpio(w io.Writer, files []File) error {
	var records []cpio.Record
	for _, f := range files {
		if f.Name == "" || path.Clean("/"+f.Name) != "/"+f.Name {
			return fmt.Errorf("write initramfs: %q is no path from the root", f.Name)
		}
		mode := cmp.Or(f.Mode, 0o644)
		records = append(records, cpio.Record{
			ReaderAt: bytes.NewReader(f.Data),
			Info:     cpio.Info{Name: f.Name, Mode: cpio.S_IFREG | uint64(mode), NLink: 1, FileSize: uint64(len(f.Data))},
		})
	}
	return writeRecords(w, records)
}

// block is what archives are padded to. The kernel wants a multiple of four;
// cpio(1) pads to 512.
const block = 512

func writeRecords(w io.Writer, records []cpio.Record) error {
	records = withDirectories(records)
	cpio.MakeAllReproducible(records)
	counted := &counter{w: w}
	out := cpio.Newc.Writer(counted)
	for _, r := range records {
		if err := out.WriteRecord(r); err != nil {
			return fmt.Errorf("write initramfs: %s: %w", r.Name, err)
		}
	}
	if err := cpio.WriteTrailer(out); err != nil {
		return fmt.Errorf("write initramfs: %w", err)
	}
	if over := counted.n % block; over != 0 {
		if _, err := w.Write(make([]byte, block-over)); err != nil {
			return fmt.Errorf("write initramfs: %w", err)
		}
	}
	return nil
}

// withDirectories adds the directories that records are in, and sorts all so
// that each comes after the one that it is in: the kernel makes none itself.
func withDirectories(records []cpio.Record) []cpio.Record {
	have := make(map[string]bool)
	for _, r := range records {
		have[r.Name] = true
	}
	out := slices.Clone(records)
	for _, r := range records {
		for dir := path.Dir(r.Name); dir != "." && !have[dir]; dir = path.Dir(dir) {
			have[dir] = true
			out = append(out, cpio.Directory(dir, 0o755))
		}
	}
	slices.SortFunc(out, func(a, b cpio.Record) int { return strings.Compare(a.Name, b.Name) })
	return out
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
