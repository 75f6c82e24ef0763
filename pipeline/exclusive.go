package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// exclusive waits until no other spindle of this cache directory measures. The
// lock is the kernel's and goes with the process, however it ends.
//
// Runs in virtual time do not mind each other, and share the host. They keep
// away from runs in real time, whose drives they would make late.
//
// Two users, or two cache directories, are not kept apart: the noise figures
// of every sample show what they did to each other.
func exclusive(ctx context.Context, env Env, virtual bool) (release func(), err error) {
	path := filepath.Join(env.Cache, "measuring.lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock host: %w", err)
	}
	how := unix.LOCK_EX
	if virtual {
		how = unix.LOCK_SH
	}
	said := false
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock host: %s: %w", path, err)
		}
		if !said {
			env.Log.Printf("another spindle measures on this host; waiting for it to end")
			said = true
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("lock host: %w", context.Cause(ctx))
		case <-time.After(time.Second):
		}
	}
}
