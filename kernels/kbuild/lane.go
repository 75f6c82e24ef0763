package kbuild

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/progress"
	"spindle/internal/store"
)

// lane is a source tree with an object tree.
//
//	LANE/git   git's directory: the index that knows the times of files
//	LANE/src   the source, as of one commit
//	LANE/obj   what make has built of it (O=)
//	LANE/busy  is there while a build runs; found later, it tells of a crash
//	LANE.json  what the lane is for
//
// They are together in one directory so that one prefix covers all paths.
type lane struct {
	dir    string
	log    *progress.Log
	unlock func() error
}

func (l lane) path(name string) string { return filepath.Join(l.dir, name) }

// lanes are in a directory of this name below Env.Dir.
const lanes = "lanes"

// laneRecipe changes when the objects of an older spindle are not to be trusted.
const laneRecipe = "2"

// laneID names a lane by all that makes an object tree useless when it changes.
func laneID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:16]
}

// openLane waits for its turn and gives a lane that is fit for use.
func openLane(ctx context.Context, parent, id string, log *progress.Log) (l lane, err error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return l, err
	}
	if parent, err = filepath.EvalSymlinks(parent); err != nil {
		return l, err
	}
	if strings.ContainsAny(parent, " :\t\n") {
		return l, &fault.Error{Kind: fault.Machinery, Reason: "path", Err: fmt.Errorf("%q: a kernel cannot be built below a directory with a space or colon in its name", parent),
			Hint: "choose another cache directory: SPINDLE_CACHE=/var/tmp/spindle"}
	}
	l = lane{dir: filepath.Join(parent, id), log: log}
	quick, cancel := context.WithTimeout(ctx, time.Second)
	l.unlock, err = store.Lock(quick, l.dir+".lock")
	cancel()
	if err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		log.Printf("kernel: another spindle builds in this lane; waiting")
		l.unlock, err = store.Lock(ctx, l.dir+".lock")
	}
	if err != nil {
		return l, err
	}
	if _, err := os.Stat(l.path("busy")); err == nil {
		// Objects may be cut short, and git's index may not be what is there.
		log.Printf("kernel: the last build in this lane did not end well; starting over")
		if err := os.RemoveAll(l.dir); err != nil {
			return l, errors.Join(err, l.unlock())
		}
	}
	for _, name := range []string{"git", "src", "obj"} {
		if err := os.MkdirAll(l.path(name), 0o755); err != nil {
			return l, errors.Join(err, l.unlock())
		}
	}
	return l, nil
}

// begin marks the lane as one in which something is half done; done takes the
// mark away.
func (l lane) begin() error { return os.WriteFile(l.path("busy"), nil, 0o644) }
func (l lane) done() error {
	err := os.Remove(l.path("busy"))
	now := time.Now()
	return errors.Join(err, os.Chtimes(l.dir, now, now)) // gc goes by the last use
}

// describe says in LANE.json what the lane is for, for kernel list and people.
func (l lane) describe(s Spec, series string) error {
	text, err := json.MarshalIndent(Lane{Series: series, Arch: s.Target.Name, Compiler: s.Compiler.Text, Source: s.Code.Repo.Dir}, "", "  ")
	if err != nil {
		return err
	}
	return writeChanged(l.dir+".json", string(text)+"\n")
}

// Lane tells of a lane.
type Lane struct {
	Series   string    `json:"series"` // 6.12
	Arch     string    `json:"arch"`
	Compiler string    `json:"compiler"`
	Source   string    `json:"source"` // repository of ours
	Dir      string    `json:"-"`
	Used     time.Time `json:"-"`
}

// Lanes lists the lanes in a directory of builds, sorted by name.
func Lanes(dir string) ([]Lane, error) {
	files, err := filepath.Glob(filepath.Join(dir, lanes, "*.json"))
	if err != nil {
		return nil, err
	}
	var out []Lane
	for _, file := range files {
		var l Lane
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		if err != nil {
			return nil, fmt.Errorf("list lanes: %w", err)
		}
		l.Dir = strings.TrimSuffix(file, ".json")
		if info, err := os.Stat(l.Dir); err == nil {
			l.Used = info.ModTime()
			out = append(out, l)
		}
	}
	return out, nil
}

// Remove removes a lane that nobody works in; one in use is left, with false.
func (l Lane) Remove(ctx context.Context) (bool, error) {
	quick, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	unlock, err := store.Lock(quick, l.Dir+".lock")
	if err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			err = nil
		}
		return false, err
	}
	defer unlock()
	if err := os.WriteFile(filepath.Join(l.Dir, "busy"), nil, 0o644); err != nil {
		return false, err
	}
	return true, errors.Join(os.RemoveAll(l.Dir), os.Remove(l.Dir+".json"))
}
