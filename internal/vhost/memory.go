package vhost

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// memory is what a machine shares of its own. Addresses are the guest's
// physical ones, and for rings those of the front end's process.
type memory struct{ regions []region }

type region struct {
	guest, user, size uint64
	mem               []byte // of that size
	mapped            []byte // with what is before it on its page
}

// table maps the regions of a SET_MEM_TABLE message. It closes the files.
func table(payload []byte, files []int) (m *memory, err error) {
	defer closeAll(files)
	m = &memory{}
	defer func() {
		if err != nil {
			m.close()
			m = nil
		}
	}()
	f := fields{b: payload}
	n := f.u32()
	f.u32() // padding
	if int(n) != len(files) || n > mostFds {
		return nil, fmt.Errorf("share memory: %d regions and %d files", n, len(files))
	}
	for _, fd := range files {
		r := region{guest: f.u64(), size: f.u64(), user: f.u64()}
		offset := f.u64()
		if err := f.err("memory table"); err != nil {
			return m, err
		}
		if err := r.open(fd, offset); err != nil {
			return m, fmt.Errorf("share memory at %#x: %w", r.guest, err)
		}
		m.regions = append(m.regions, r)
	}
	return m, nil
}

func (r *region) open(fd int, offset uint64) error {
	const most = 1 << 46 // bytes; no address space holds more
	if r.size == 0 || r.size > most || offset > most || r.guest > 1<<63 || r.user > 1<<63 {
		return fmt.Errorf("%d bytes at %#x of the file", r.size, offset)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if uint64(st.Size) < offset+r.size {
		return fmt.Errorf("%d bytes at %#x of a file of %d", r.size, offset, st.Size)
	}
	lead := offset % uint64(unix.Getpagesize())
	var err error
	r.mapped, err = unix.Mmap(fd, int64(offset-lead), int(lead+r.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	r.mem = r.mapped[lead:]
	return nil
}

func (m *memory) close() {
	if m == nil {
		return
	}
	for _, r := range m.regions {
		unix.Munmap(r.mapped)
	}
	m.regions = nil
}

var errNoMemory = errors.New("the machine has shared no memory")

// at gives n bytes at a physical address of the guest's.
func (m *memory) at(addr, n uint64) ([]byte, error) {
	if m == nil {
		return nil, errNoMemory
	}
	for i := range m.regions {
		r := &m.regions[i]
		if addr >= r.guest && addr-r.guest < r.size && n <= r.size-(addr-r.guest) {
			return r.mem[addr-r.guest:][:n:n], nil
		}
	}
	return nil, fmt.Errorf("%d bytes at %#x are not memory that the guest shares", n, addr)
}

// user gives n bytes at an address of the front end's process.
func (m *memory) user(addr, n uint64) ([]byte, error) {
	if m == nil {
		return nil, errNoMemory
	}
	for i := range m.regions {
		r := &m.regions[i]
		if addr >= r.user && addr-r.user < r.size && n <= r.size-(addr-r.user) {
			return r.mem[addr-r.user:][:n:n], nil
		}
	}
	return nil, fmt.Errorf("%d bytes at %#x are not memory that the machine shares", n, addr)
}

func closeAll(files []int) {
	for _, fd := range files {
		unix.Close(fd)
	}
}
