package fault

import (
	"errors"
	"strings"
	"syscall"
)

// DiskFull says whether err means that a disk, or the user's share of it, is full.
// Programs that we run say so only in words, which their error quotes.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || err != nil && TellsDiskFull(err.Error())
}

// TellsDiskFull says whether the output of a program has the words for it.
func TellsDiskFull(output string) bool {
	for _, words := range []string{
		"No space left on device", "no space left on device", // the C library's, and Go's
		"Disk quota exceeded", "disk quota exceeded",
		"Out of diskspace", "unable to write file", // git's
	} {
		if strings.Contains(output, words) {
			return true
		}
	}
	return false
}
