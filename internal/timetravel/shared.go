package timetravel

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The memory that both ends see, struct um_timetravel_schedshm: a page, then
// one record for each client. We are client 0, the guest is client 1.
const (
	offVersion = 0  // u32
	offLength  = 4  // u32, of all of it
	offFree    = 8  // u64
	offNow     = 16 // u64
	offRunning = 24 // u16 running_id, and u16 max_clients behind it
	headerSize = 4096
	clientSize = 128
	offCapable = 0 // in a client, u32
	offFlags   = 4 // u32
	offWanted  = 8 // u64
	clients    = 2
	sharedSize = 2 * headerSize
	version    = 2
	timeShare  = 1 // a capability: it reads and writes times here
	wantsToRun = 1 // a flag: offWanted holds
	guestID    = 1
	hostID     = 0
)

// shared is that memory.
type shared struct {
	file *os.File
	mem  []byte
}

func newShared() (*shared, error) {
	fd, err := unix.MemfdCreate("spindle-time", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make shared memory: %w", err)
	}
	s := &shared{file: os.NewFile(uintptr(fd), "spindle-time")}
	if err = unix.Ftruncate(fd, sharedSize); err == nil {
		s.mem, err = unix.Mmap(fd, 0, sharedSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		s.file.Close()
		return nil, fmt.Errorf("make shared memory: %w", err)
	}
	atomic.StoreUint32(s.u32(offVersion), version)
	atomic.StoreUint32(s.u32(offLength), sharedSize)
	s.running(guestID) // it is: it connects while it boots
	atomic.StoreUint32(s.u32(headerSize+hostID*clientSize+offCapable), timeShare)
	return s, nil
}

func (s *shared) close() error {
	err := unix.Munmap(s.mem)
	s.mem = nil
	if cerr := s.file.Close(); err == nil {
		err = cerr
	}
	return err
}

func (s *shared) u32(off int) *uint32 { return (*uint32)(unsafe.Pointer(&s.mem[off])) }
func (s *shared) u64(off int) *uint64 { return (*uint64)(unsafe.Pointer(&s.mem[off])) }

// running says whose turn it is.
func (s *shared) running(id uint32) { atomic.StoreUint32(s.u32(offRunning), id|clients<<16) }

// taken says whether the guest uses this memory.
func (s *shared) taken() bool {
	return atomic.LoadUint32(s.u32(headerSize+guestID*clientSize+offCapable))&timeShare != 0
}

func (s *shared) now() time.Duration      { return instant(atomic.LoadUint64(s.u64(offNow))) }
func (s *shared) setNow(t time.Duration)  { atomic.StoreUint64(s.u64(offNow), uint64(t)) }
func (s *shared) setFree(t time.Duration) { atomic.StoreUint64(s.u64(offFree), uint64(t)) }
func (s *shared) free() time.Duration     { return instant(atomic.LoadUint64(s.u64(offFree))) }
func (s *shared) wanted() (time.Duration, bool) {
	const guest = headerSize + guestID*clientSize
	if atomic.LoadUint32(s.u32(guest+offFlags))&wantsToRun == 0 {
		return 0, false
	}
	return instant(atomic.LoadUint64(s.u64(guest + offWanted))), true
}
