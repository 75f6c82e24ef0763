package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"spindle/internal/fault"
)

// ErrLocked says that another process is writing the run.
var ErrLocked = errors.New("run is being written by another process")

// lock takes the run's writer lock without waiting. The kernel drops it when
// the process ends, however it ends, so the file itself means nothing and
// stays.
func lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		who, _ := io.ReadAll(io.LimitReader(f, 32))
		f.Close()
		err := fmt.Errorf("lock run %s: %w", dir, ErrLocked)
		if pid, e := strconv.Atoi(strings.TrimSpace(string(who))); e == nil {
			err = fmt.Errorf("lock run %s: %w (process %d)", dir, ErrLocked, pid)
		}
		return nil, &fault.Error{Kind: fault.Plan, Reason: "", Err: err, Hint: "wait for it to end, or give this run another directory"}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock run %s: flock %s: %w", dir, path, err)
	}
	// For the message above only; a reader that sees it half-written loses nothing.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}
