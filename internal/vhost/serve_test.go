package vhost

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lateDisk answers from another goroutine.
type lateDisk struct{ memoryDisk }

func (l *lateDisk) Submit(r *Request, done func(error)) {
	l.memoryDisk.Submit(r, func(err error) { go func() { done(err) }() })
}

// A machine that notifies by eventfds, as QEMU.
func TestServe(t *testing.T) {
	m := &lateDisk{memoryDisk{content: pattern(1 << 20)}}
	f := newFront(t, mustBlock(t, Disk{Size: 1 << 20, Serial: "d0", Backend: m}))
	f.connect()
	kick, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	call, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(kick)
	defer unix.Close(call)
	f.must(setVringKick, u64s(0), kick)
	f.must(setVringCall, u64s(0), call)

	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.conn.Serve(ctx) }()
	for i := range 100 {
		where := f.place(0, false, [][]byte{blockRequest(blkIn, uint64(i))}, []int{512, 1})
		unix.Write(kick, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		fds := []unix.PollFd{{Fd: int32(call), Events: unix.POLLIN}}
		if n, _ := unix.Poll(fds, 5000); n != 1 {
			t.Fatal("no call after 5 s")
		}
		unix.Read(call, make([]byte, 8))
		if !bytes.Equal(where[0], m.content[512*i:512*(i+1)]) || where[1][0] != blkOK {
			t.Fatalf("request %d: other data, status %d", i, where[1][0])
		}
		f.next -= 4096 * 3 // what the request took
	}
	why := errors.New("enough")
	cancel(why)
	select {
	case err := <-ended:
		if !errors.Is(err, why) {
			t.Errorf("error %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("did not end")
	}
}
