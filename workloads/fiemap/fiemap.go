// Package fiemap tells in how many pieces a file system has put files on its
// drive, by the FIEMAP ioctl (Documentation/filesystems/fiemap.rst), which ext4,
// XFS, btrfs and F2FS all answer.
//
// A file is written back first, for one that is not has no place yet. It promises
// the figures of filefrag(8): an extent is a record of the kernel, a row of
// filefrag -v; a discontiguity is an extent that does not lie where the one
// before it ends, holes taken into account, so that "N extents found" is one
// more than it. What the kernel merges is its own affair: ext4 has extents of at
// most 128 MiB, btrfs shows compressed ones of 128 KiB, and neither is a seek.
package fiemap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Extent is one record.
type Extent struct {
	Logical  uint64 // bytes from the beginning of the file
	Physical uint64 // bytes from the beginning of the drive
	Length   uint64 // bytes
	Flags    uint32 // FIEMAP_EXTENT_*
}

// The kernel's structures (include/uapi/linux/fiemap.h).
type rawExtent struct {
	logical, physical, length uint64
	_                         [2]uint64
	flags                     uint32
	_                         [3]uint32
}

type rawMap struct {
	start, length              uint64
	flags, mapped, count, free uint32
	extents                    [batch]rawExtent
}

const (
	batch      = 256
	ioctl      = 0xC020660B // FS_IOC_FIEMAP
	flagSync   = 0x1        // FIEMAP_FLAG_SYNC
	flagLast   = 0x1        // FIEMAP_EXTENT_LAST
	flagInline = 0x200      // FIEMAP_EXTENT_DATA_INLINE: it lies in the metadata
)

// Of gives the extents of an open file, in order, having it written back first.
func Of(f *os.File) ([]Extent, error) {
	var all []Extent
	m := rawMap{length: ^uint64(0), flags: flagSync, count: batch}
	for {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), ioctl, uintptr(unsafe.Pointer(&m))); errno != 0 {
			return nil, fmt.Errorf("map extents of %s: %w", f.Name(), errno)
		}
		for _, e := range m.extents[:min(m.mapped, batch)] {
			all = append(all, Extent{e.logical, e.physical, e.length, e.flags})
			if e.flags&flagLast != 0 {
				return all, nil
			}
		}
		if m.mapped == 0 {
			return all, nil
		}
		last := all[len(all)-1]
		m = rawMap{start: last.Logical + last.Length, length: ^uint64(0), flags: flagSync, count: batch}
		m.length -= m.start
	}
}

// Layout is how files lie on their drive, together.
type Layout struct {
	Files           int   `json:"files"`   // with at least one extent
	Extents         int   `json:"extents"` // of all of them
	Discontiguities int   `json:"discontiguities"`
	Bytes           int64 `json:"bytes"` // that the extents hold
	Inline          int   `json:"inline,omitempty"`
	Skipped         int   `json:"skipped,omitempty"` // files that were not looked at, see Tree
}

// Count gives the layout of one file.
func Count(es []Extent) Layout {
	var l Layout
	for i, e := range es {
		if e.Flags&flagInline != 0 {
			l.Inline++
		}
		l.Extents++
		l.Bytes += int64(e.Length)
		if i == 0 {
			continue
		}
		p := es[i-1]
		if e.Physical-p.Physical != e.Logical-p.Logical {
			l.Discontiguities++
		}
	}
	if len(es) > 0 {
		l.Files = 1
	}
	return l
}

// Add adds another's files.
func (l *Layout) Add(o Layout) {
	l.Files += o.Files
	l.Extents += o.Extents
	l.Discontiguities += o.Discontiguities
	l.Bytes += o.Bytes
	l.Inline += o.Inline
	l.Skipped += o.Skipped
}

// PerFile is the mean number of extents of a file; 0 of none.
func (l Layout) PerFile() float64 { return per(float64(l.Extents), l.Files) }

// Mean is the mean size of an extent in bytes; 0 of none.
func (l Layout) Mean() float64 { return per(float64(l.Bytes), l.Extents) }

func per(v float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return v / float64(n)
}

// Tree gives the layout of the regular files below a directory, in the order of
// their names, most of them at most; those behind are counted as skipped. most 0
// is all. Files that go away meanwhile are left out.
func Tree(dir string, most int) (Layout, error) {
	var l Layout
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.Type().IsRegular():
			return nil
		}
		if seen++; most > 0 && seen > most {
			l.Skipped++
			return nil
		}
		one, err := File(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		l.Add(one)
		return err
	})
	return l, err
}

// File gives the layout of the file of that name.
func File(path string) (Layout, error) {
	f, err := os.Open(path)
	if err != nil {
		return Layout{}, err
	}
	defer f.Close()
	es, err := Of(f)
	return Count(es), err
}
