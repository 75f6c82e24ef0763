package fault_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"spindle/internal/fault"
)

func TestDiskFull(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{os.ErrNotExist, false},
		{fmt.Errorf("write: %w", &os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}), true},
		{syscall.EDQUOT, true},
		{errors.New("git: fatal: Out of diskspace"), true},
		{errors.New("error: unable to write file fs/inode.c"), true},
		{errors.New("as: fs/inode.o: No space left on device"), true},
		{errors.New(syscall.EDQUOT.Error()), true},
		{errors.New("no room for another patch"), false},
	} {
		if got := fault.DiskFull(tt.err); got != tt.want {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}
