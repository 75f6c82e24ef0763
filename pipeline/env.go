package pipeline

import (
	"crypto/rand"
	"io"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"spindle/images"
	"spindle/internal/progress"
	"spindle/internal/store"
	"spindle/kernels"
	"spindle/pipeline/drive/timing"
	"spindle/reports/record"
)

// Env is what a run takes from the host. Time, randomness and places come in
// here and nowhere else.
type Env struct {
	Store   *store.Store
	Cache   string // directory of the store, the apt root and the accelerator's probe
	Temp    string // parent of the temporary directories of samples
	Log     *progress.Log
	Now     func() time.Time
	Rand    io.Reader // for the keys of guests
	Home    string    // what ~/ in a plan means
	Version string    // of spindle, for the manifest
	Command []string  // as typed, for the manifest
	// Twice makes every sample of a plan in virtual time a second time, and
	// fails one that did not come out the same.
	Twice bool
	// NoBuild leaves kernels that are not built yet alone, and what a plan asks
	// of them unchecked.
	NoBuild bool
	// Tape is given the requests of a cell's timed part as its drive gets them,
	// where it is set and the drive is a model of ours, in real time.
	Tape func(record.Cell, timing.Request)
	// Begun is called with a new run before its first sample, where it is set.
	Begun func(*record.Run) error
}

// NewEnv is the Env of a real command: temporary files beside the store, so
// that they share its file system, and keys from the kernel's generator.
func NewEnv(st *store.Store, cache string, log *progress.Log, now func() time.Time, home, version string, command []string) Env {
	return Env{
		Store: st, Cache: cache, Temp: filepath.Join(cache, "tmp"), Log: log,
		Now: now, Rand: rand.Reader, Home: home, Version: version, Command: command,
	}
}

func (e Env) kernels(p *Plan) kernels.Env {
	return kernels.Env{Store: e.Store, Archive: p.Debian, AptDir: filepath.Join(e.Cache, "apt"), Dir: filepath.Join(e.Cache, "kernels"), Log: e.Log, NoBuild: e.NoBuild}
}

func (e Env) images(p *Plan) images.Env {
	return images.Env{Store: e.Store, Archive: p.Debian, Log: e.Log}
}

// place makes the paths of a kernel source absolute: they are relative to the
// plan's file, wherever spindle is started.
func (e Env) place(p *Plan, s kernels.Source) kernels.Source {
	return s.Local(func(path string) string { return e.local(p, path) })
}

// local makes one path of a plan absolute.
func (e Env) local(p *Plan, path string) string {
	switch rest, home := strings.CutPrefix(path, "~/"); {
	case home && e.Home != "":
		return filepath.Join(e.Home, rest)
	case !filepath.IsAbs(path):
		return filepath.Join(filepath.Dir(p.File), path)
	}
	return path
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
