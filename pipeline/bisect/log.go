package bisect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
	"spindle/reports/record"
)

// logFile is the log of a bisection in its directory: one JSON object a line,
// only ever appended to. All that is known is in it; a bisection that goes on
// begins by reading it.
const logFile = "bisect.jsonl"

// Format is the number of the log's form. Additions that an older reader may
// ignore do not change it.
const Format = 1

// entry is a line of the log: one of its parts is there.
type entry struct {
	At     time.Time `json:"at"`
	Start  *Start    `json:"start,omitempty"`
	Kernel *Kernel   `json:"kernel,omitempty"`
	Skip   *Skip     `json:"skip,omitempty"`
	Sample *Sample   `json:"sample,omitempty"`
	Revert *Revert   `json:"revert,omitempty"`
	End    *End      `json:"end,omitempty"`
}

// Start is what is searched, and by what. It is the first line.
type Start struct {
	Format  int      `json:"format"`
	Spindle string   `json:"spindle"`
	Command []string `json:"command"`
	Repo    string   `json:"repo"` // absolute path
	Good    string   `json:"good"` // full ids
	Bad     string   `json:"bad"`
	GoodRev string   `json:"good_rev"` // as given
	BadRev  string   `json:"bad_rev"`
	Paths   []string `json:"paths,omitempty"`

	Metric    record.MetricInfo `json:"metric"`
	Condition record.Condition  `json:"condition"`
	Arm       string            `json:"arm"`
	Virtual   bool              `json:"virtual,omitempty"`
	Manifest  *record.Manifest  `json:"manifest"` // of the host, the image and the plan; its layout is not followed
}

// Kernel is a commit's kernel, built or found.
type Kernel struct {
	Commit   string  `json:"commit"`
	Hash     string  `json:"hash"`               // of the artifact
	Alike    string  `json:"alike"`              // the same for kernels that differ in their names only
	Artifact string  `json:"artifact,omitempty"` // directory in the store
	Seconds  float64 `json:"seconds"`            // that it took
}

// Skip is a commit that cannot be measured, which is no evidence.
type Skip struct {
	Commit string `json:"commit"`
	Reason string `json:"reason"` // build, patch, panic, hang, ...
	Detail string `json:"detail,omitempty"`
	Log    string `json:"log,omitempty"` // file, relative to the bisection's directory
}

// Sample is one boot that gave a value.
type Sample struct {
	Commit  string  `json:"commit"`
	Block   int     `json:"block"`
	Value   float64 `json:"value"`           // of the metric, in its unit
	Dir     string  `json:"dir"`             // relative to the bisection's directory
	Seconds float64 `json:"seconds"`         // of wall time
	Phase   string  `json:"phase,omitempty"` // search or confirm
}

// Revert begins the confirmation of a culprit: its parents, and what git made of
// a revert on the bad end.
type Revert struct {
	Commit  string   `json:"commit"`
	Parents []string `json:"parents"`
	ID      string   `json:"id,omitempty"`   // by which the revert's kernel and samples go; "" if there is none
	File    string   `json:"file,omitempty"` // patch, relative to the bisection's directory
	Why     string   `json:"why,omitempty"`  // it is not there
}

// End is the last line of a bisection that came to its end.
type End struct {
	Line string `json:"line"` // the answer in one line
}

// Log is the log of a bisection, open for appending. It is for one goroutine.
type Log struct {
	dir  string
	file *os.File
	now  func() time.Time
}

// CreateLog makes the directory of a bisection with its first line. A directory
// that has anything in it is refused as a fault of the plan.
func CreateLog(dir string, now func() time.Time, s Start) (*Log, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create bisection: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("create bisection: %w", err)
	}
	if len(entries) > 0 {
		hint := "give it a directory of its own"
		if _, err := os.Stat(filepath.Join(dir, logFile)); err == nil {
			hint = "to go on with what is there: spindle bisect --resume " + dir
		}
		return nil, &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("create bisection %s: directory is not empty (%s)", dir, entries[0].Name()), Hint: hint}
	}
	f, err := os.OpenFile(filepath.Join(dir, logFile), os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create bisection: %w", err)
	}
	l := &Log{dir, f, now}
	if err := l.lock(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.Format = Format
	if err := l.add(entry{Start: &s}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for _, d := range []string{dir, filepath.Dir(filepath.Clean(dir))} {
		if err := syncDir(d); err != nil {
			return nil, errors.Join(fmt.Errorf("create bisection: %w", err), f.Close())
		}
	}
	return l, nil
}

// OpenLog opens the log of a bisection to go on with it, and gives what is in
// it. A last line that was cut short by a crash is taken away.
func OpenLog(dir string, now func() time.Time) (*Log, *State, error) {
	f, err := os.OpenFile(filepath.Join(dir, logFile), os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, notOne(dir, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open bisection: %w", err)
	}
	l := &Log{dir, f, now}
	fail := func(err error) (*Log, *State, error) {
		return nil, nil, errors.Join(fmt.Errorf("open bisection %s: %w", dir, err), f.Close())
	}
	if err := l.lock(); err != nil {
		return fail(err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return fail(err)
	}
	s, whole, err := replay(text)
	if err != nil {
		return fail(err)
	}
	if whole < len(text) {
		if err := f.Truncate(int64(whole)); err != nil {
			return fail(err)
		}
	}
	return l, s, nil
}

// ReadLog gives what is in the log of a bisection, which may be going on.
func ReadLog(dir string) (*State, error) {
	text, err := os.ReadFile(filepath.Join(dir, logFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notOne(dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read bisection: %w", err)
	}
	s, _, err := replay(text)
	if err != nil {
		return nil, fmt.Errorf("read bisection %s: %w", dir, err)
	}
	return s, nil
}

func notOne(dir string, err error) error {
	return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("open bisection %s: %w", dir, err), Hint: "the directory of a bisection is one that spindle bisect made; it has a " + logFile}
}

// lock keeps a second writer out for as long as the file is open.
func (l *Log) lock() error {
	err := unix.Flock(int(l.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fault.Planf("lock bisection %s: another spindle works on it", l.dir)
	}
	if err != nil {
		return fmt.Errorf("lock bisection %s: %w", l.dir, err)
	}
	return nil
}

// add appends a line; when it returns the line is on the disk.
func (l *Log) add(e entry) error {
	e.At = l.now().UTC()
	line, err := json.Marshal(e)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", logFile, err)
	}
	return nil
}

// Close gives the log back to others.
func (l *Log) Close() error { return l.file.Close() }

// replay reads a log. whole is how much of it ends with whole lines: a crash
// may have cut the last one short. Anything else that is no entry is an error.
func replay(text []byte) (s *State, whole int, err error) {
	for n := 1; ; n++ {
		end := bytes.IndexByte(text[whole:], '\n')
		if end < 0 {
			break
		}
		var e entry
		if err := json.Unmarshal(text[whole:whole+end], &e); err != nil {
			return nil, 0, fmt.Errorf("%s:%d: %w", logFile, n, err)
		}
		if s == nil {
			if e.Start == nil || e.Start.Manifest == nil {
				return nil, 0, fmt.Errorf("%s:%d: it does not say what is searched", logFile, n)
			}
			if e.Start.Format != Format {
				return nil, 0, fault.Planf("%s:%d: its form has the number %d, and this spindle knows %d", logFile, n, e.Start.Format, Format)
			}
			s = newState(*e.Start, e.At)
		} else if err := s.take(e); err != nil {
			return nil, 0, fmt.Errorf("%s:%d: %w", logFile, n, err)
		}
		whole += end + 1
	}
	if s == nil {
		return nil, 0, fmt.Errorf("%s is empty", logFile)
	}
	return s, whole, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// path gives a file of the bisection, by its name in the directory.
func (l *Log) path(name string) string { return filepath.Join(l.dir, name) }
