// Package sparse keeps what a modelled drive holds: a file as large as the
// drive, of which only what is not zero takes space on the host.
//
// Most workloads of writeback tests write zeros, and a test drive may be far
// larger than the host's disk. So zeros are recognised and left out: written
// over a hole they cost one system call and no I/O, written over data they
// punch a hole.
//
// It promises that what was written is read back, from any number of
// goroutines at a time; that the first failure of the host's storage is kept
// ([File.Err]) and names the file; and that an unnamed file vanishes with the
// process, however that ends. It does not order overlapping operations that run
// at the same time, and it never calls fsync: the drive it stands for is as
// short-lived as the test.
package sparse

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
)

// File is the content of a drive.
type File struct {
	f       *os.File
	name    string
	noPunch atomic.Bool // the file system cannot punch holes
	err     atomic.Pointer[fault.Error]
}

// Open opens or makes the content of a drive of size bytes. A path that is a
// directory means an unnamed file in it; "" an unnamed file in memory, enough
// for tests and for workloads that write zeros. Any other path is a file that is
// created if need be, keeps its content, and stays.
func Open(path string, size int64) (*File, error) {
	f, name, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open drive content: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s: not a regular file", name)
	case info.Size() > size:
		err = fmt.Errorf("%s: %d bytes, more than the drive's %d; name another file or remove it", name, info.Size(), size)
	default:
		err = f.Truncate(size)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open drive content: %w", err)
	}
	return &File{f: f, name: name}, nil
}

func open(path string) (*os.File, string, error) {
	if path == "" {
		fd, err := unix.MemfdCreate("spindle-drive", unix.MFD_CLOEXEC)
		if err != nil {
			return nil, "", fmt.Errorf("make file in memory: %w", err)
		}
		return os.NewFile(uintptr(fd), "memory"), "memory", nil
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		return f, path, err
	}
	name := "unnamed file in " + path
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err == nil {
		return f, name, nil
	}
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return nil, "", err
	}
	if f, err = os.CreateTemp(path, "spindle-drive-*"); err != nil {
		return nil, "", err
	}
	return f, name, os.Remove(f.Name())
}

// Close closes the file; an unnamed one is gone then.
func (f *File) Close() error { return f.f.Close() }

// Err gives the first failure of the host's storage, a machinery fault with
// reason "backing", or nil.
func (f *File) Err() error {
	if e := f.err.Load(); e != nil {
		return e
	}
	return nil
}

// Allocated is how many bytes the content takes on the host.
func (f *File) Allocated() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.f.Fd()), &st); err != nil {
		return 0, fmt.Errorf("measure %s: %w", f.name, err)
	}
	return st.Blocks * 512, nil
}

// ReadAt fills p with the content at off. It does not ask the host to read a
// hole, which would fill its page cache with zeros.
func (f *File) ReadAt(p []byte, off int64) error {
	if start, ok := f.data(off); ok && start >= off+int64(len(p)) {
		clear(p)
		return nil
	}
	if _, err := f.f.ReadAt(p, off); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // somebody cut the file
		}
		return f.fail("read", err)
	}
	return nil
}

// WriteAt replaces the content at off by p. Stretches of zeros in p become
// holes.
func (f *File) WriteAt(p []byte, off int64) error {
	for len(p) > 0 {
		n := zeros(p, off)
		var err error
		if n == len(p) || n >= minHole {
			err = f.Zero(off, int64(n))
		} else {
			n = data(p, off)
			err = f.write(p[:n], off)
		}
		if err != nil {
			return err
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// Zero makes n bytes at off zero.
func (f *File) Zero(off, n int64) error {
	end := off + n
	start, ok := f.data(off)
	switch {
	case !ok:
		start = off
	case start >= end:
		return nil
	}
	if end-start >= page && !f.noPunch.Load() {
		err := unix.Fallocate(int(f.f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, start, end-start)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
			return f.fail("punch hole in", err)
		}
		f.noPunch.Store(true)
	}
	for start < end {
		k := min(end-start, page)
		if err := f.write(zeroPage[:k], start); err != nil {
			return err
		}
		start += k
	}
	return nil
}

// data is where the first data at or after off begins: at the end of all files
// if there is none. The kernel knows; a map of our own would be a second truth.
// ok is false on a file system that cannot tell.
func (f *File) data(off int64) (start int64, ok bool) {
	start, err := unix.Seek(int(f.f.Fd()), off, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return math.MaxInt64, true
	}
	return start, err == nil
}

func (f *File) write(p []byte, off int64) error {
	if _, err := f.f.WriteAt(p, off); err != nil {
		return f.fail("write", err)
	}
	return nil
}

// fail marks err as the machinery's and keeps it if it is the first.
func (f *File) fail(verb string, err error) error {
	var path *os.PathError // repeats the name
	if errors.As(err, &path) {
		err = path.Err
	}
	e := fault.New(fault.Machinery, "backing", fmt.Errorf("%s %s: %w", verb, f.name, err))
	if fault.DiskFull(err) {
		e.Hint = "free space there, or give the drive a directory with more"
	}
	f.err.CompareAndSwap(nil, e)
	return e
}
