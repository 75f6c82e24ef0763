package sparse

import (
	"fmt"
	"os"
)

// OpenReadOnly opens an image for reading alone. Its length may be anything;
// what is read behind its end is zeros up to the next sector.
func OpenReadOnly(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open drive content: %w", err)
	}
	return &File{f: f, name: path}, nil
}

// WriteVec replaces the content at off by parts, one after the other, as
// [File.WriteAt] does: zeros that stretch over several parts, of a page each
// for example, cost one call of the kernel.
func (f *File) WriteVec(parts [][]byte, off int64) error {
	var hole int64 // zeros before off that were not written yet
	flush := func() error {
		n := hole
		if hole = 0; n == 0 {
			return nil
		}
		return f.Zero(off-n, n)
	}
	for _, p := range parts {
		for len(p) > 0 {
			n := zeros(p, off)
			if n > 0 {
				hole += int64(n)
			} else {
				if err := flush(); err != nil {
					return err
				}
				n = data(p, off)
				if err := f.write(p[:n], off); err != nil {
					return err
				}
			}
			p, off = p[n:], off+int64(n)
		}
	}
	return flush()
}

// ReadVec fills parts, one after the other, with the content at off. A hole
// costs one call of the kernel.
func (f *File) ReadVec(parts [][]byte, off int64) error {
	for len(parts) > 0 {
		start, ok := f.data(off)
		if !ok {
			start = off
		}
		for len(parts) > 0 && start >= off+int64(len(parts[0])) {
			clear(parts[0])
			off += int64(len(parts[0]))
			parts = parts[1:]
		}
		if len(parts) == 0 {
			break
		}
		if err := f.ReadAt(parts[0], off); err != nil {
			return err
		}
		off += int64(len(parts[0]))
		parts = parts[1:]
	}
	return nil
}
