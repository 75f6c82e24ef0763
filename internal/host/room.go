package host

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/prometheus/procfs"

	"spindle/internal/unit"
)

// Memory is the host's memory.
type Memory struct {
	Total     unit.Size `json:"total"`
	Available unit.Size `json:"available"` // without swapping
}

func readMemory(fs procfs.FS) (Memory, error) {
	m, err := fs.Meminfo()
	if err != nil {
		return Memory{}, err
	}
	if m.MemTotalBytes == nil || m.MemAvailableBytes == nil {
		return Memory{}, errors.New("read meminfo: no MemTotal or MemAvailable")
	}
	return Memory{unit.Size(*m.MemTotalBytes), unit.Size(*m.MemAvailableBytes)}, nil
}

// Disk is the room for what is built.
type Disk struct {
	Dir   string    `json:"dir"`
	Free  unit.Size `json:"free"` // for ordinary users
	Error string    `json:"error,omitempty"`
}

func readDisk(env Env) Disk {
	d := Disk{Dir: env.CacheDir}
	free := env.Free
	if free == nil {
		free = freeOn
	}
	var err error
	if d.Free, err = free(env.CacheDir); err != nil {
		d.Error = err.Error()
	}
	return d
}

// freeOn asks the file system of dir, or of the nearest directory above that
// exists already.
func freeOn(dir string) (unit.Size, error) {
	var s syscall.Statfs_t
	for {
		err := syscall.Statfs(dir, &s)
		if err == nil {
			return unit.Size(s.Bavail) * unit.Size(s.Frsize), nil
		}
		up := filepath.Dir(dir)
		if !errors.Is(err, syscall.ENOENT) || up == dir {
			return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
		}
		dir = up
	}
}

func countCPUs(fs procfs.FS) (int, error) {
	s, err := fs.Stat()
	return len(s.CPU), err
}
