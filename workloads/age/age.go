// Package age makes a file system old: round after round processes write files
// at the same time and every second file is deleted, so that the next round's go
// into the holes. After each round it is counted in how many pieces the files
// lie, and how fast they are read again.
//
// It is what Dave Chinner asked for of changes to writeback: "slower 3 months
// down the track" (linux-fsdevel, September 2012): writing back earlier, in
// smaller pieces, may be faster today and leave more extents behind.
//
// It promises the same files with the same sizes in the same order for a seed,
// whatever the kernel; real processes that begin together; and that files are
// written back before their extents are counted, and read from the drive and not
// from the cache. Where in time the processes' writes meet is the kernel's doing,
// and is what is measured.
package age

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"spindle/workloads/crew"
	"spindle/workloads/fiemap"
)

// Options are the numbers of a run. There are no defaults here.
type Options struct {
	Dir     string `json:"dir"`
	Rounds  int    `json:"rounds"`
	Writers int    `json:"writers"` // processes at the same time
	Files   int    `json:"files"`   // of all writers, each round
	Size    int64  `json:"size"`    // of a file, on average: from half of it to one and a half
	Write   int64  `json:"write"`   // bytes a system call
	Seed    uint64 `json:"seed"`
	// Caches is the file that empties the page cache; "" leaves it as it is, and
	// Reread out.
	Caches string `json:"caches"`
	Report string `json:"report"`
}

func (o Options) check() error {
	if o.Rounds < 1 || o.Writers < 1 || o.Files < o.Writers || o.Size < 1 || o.Write < 1 {
		return fmt.Errorf("%d rounds, %d writers, %d files of %d bytes, %d a write: out of range", o.Rounds, o.Writers, o.Files, o.Size, o.Write)
	}
	return nil
}

// Round is what was measured after one.
type Round struct {
	fiemap.Layout         // of the files that are there
	Written       int64   `json:"written_bytes"`
	WriteSeconds  float64 `json:"write_seconds"` // until it was on the drive
	Read          int64   `json:"read_bytes"`
	ReadSeconds   float64 `json:"read_seconds"`
}

// Report is all of them.
type Report struct {
	Rounds []Round `json:"rounds"`
}

const (
	mainRole   = "age"
	memberRole = "age-member"
)

// Args gives the arguments that make a program with Role a run with these
// options.
func (o Options) Args() ([]string, error) {
	text, err := json.Marshal(o)
	return []string{mainRole, string(text)}, err
}

// Role takes over a process that was started as one of this program's: args are
// without the program's own name. ok is false if they name something else.
func Role(ctx context.Context, self []string, args []string) (code int, ok bool) {
	return crew.Rounds[Options]{
		Name:   mainRole,
		Check:  Options.check,
		Lead:   func(o Options) error { return Run(ctx, o, self, os.Stdout) },
		Member: func(o Options, index, round int) error { return member(ctx, o, index, round) },
	}.Role(args)
}

// place gives the path of a file of a round.
func (o Options) place(round, n int) string {
	return filepath.Join(o.Dir, fmt.Sprintf("age-%03d", n%o.Writers), fmt.Sprintf("%04d-%06d", round, n))
}

// size gives a file's size: drawn from its number, so that a process need not
// know what others drew.
func (o Options) size(round, n int) int64 {
	r := rand.New(rand.NewPCG(o.Seed, uint64(round)<<32|uint64(n)))
	return max(1, o.Size/2+r.Int64N(o.Size+1))
}

// doomed says whether a file is deleted at the end of its round: every second of
// each writer's, in the order that it wrote them.
func (o Options) doomed(n int) bool { return n/o.Writers%2 == 1 }

// Run ages the file system and writes what it measured to o.Report.
func Run(ctx context.Context, o Options, self []string, stdout *os.File) error {
	if err := o.check(); err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	for i := range o.Writers {
		if err := os.MkdirAll(filepath.Dir(o.place(0, i)), 0o700); err != nil {
			return err
		}
	}
	var rep Report
	for round := range o.Rounds {
		if ctx.Err() != nil {
			break
		}
		r, err := o.round(ctx, self, string(text), round, stdout)
		if err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		rep.Rounds = append(rep.Rounds, r)
		fmt.Fprintf(stdout, "round %d: %d files, %.2f extents a file, %.1f KiB an extent\n", round+1, r.Files, r.PerFile(), r.Mean()/1024)
	}
	if text, err = json.Marshal(rep); err != nil {
		return err
	}
	return os.WriteFile(o.Report, text, 0o600)
}

func (o Options) round(ctx context.Context, self []string, text string, round int, stdout *os.File) (Round, error) {
	var members []crew.Member
	for i := range o.Writers {
		members = append(members, crew.Member{
			Name: fmt.Sprintf("writer %d", i), Args: []string{memberRole, text, strconv.Itoa(i), strconv.Itoa(round)},
		})
	}
	c, err := crew.Muster(ctx, self, members, stdout)
	if err != nil {
		return Round{}, err
	}
	began := time.Now()
	c.Go()
	if err := c.Wait(); err != nil {
		return Round{}, err
	}
	if err := syncFS(o.Dir); err != nil {
		return Round{}, err
	}
	var r Round
	r.WriteSeconds = time.Since(began).Seconds()
	for n := range o.Files {
		r.Written += o.size(round, n)
	}
	for n := range o.Files {
		if o.doomed(n) {
			if err := os.Remove(o.place(round, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return r, err
			}
		}
	}
	if err := syncFS(o.Dir); err != nil {
		return r, err
	}
	if r.Layout, err = fiemap.Tree(o.Dir, 0); err != nil {
		return r, err
	}
	return r, o.reread(ctx, &r)
}

// syncFS writes all of a file system back.
func syncFS(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := unix.Syncfs(int(d.Fd())); err != nil {
		return fmt.Errorf("syncfs %s: %w", dir, err)
	}
	return nil
}

// reread reads all files, one after another in the order of their names, from the
// drive.
func (o Options) reread(ctx context.Context, r *Round) error {
	if o.Caches == "" {
		return nil
	}
	if err := os.WriteFile(o.Caches, []byte("3\n"), 0); err != nil {
		return fmt.Errorf("drop the page cache: %w", err)
	}
	buf := make([]byte, 1<<20)
	began := time.Now()
	err := filepath.WalkDir(o.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || ctx.Err() != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for {
			n, err := f.Read(buf)
			r.Read += int64(n)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	r.ReadSeconds = time.Since(began).Seconds()
	return err
}

// member is one writer of one round: its files one after another.
func member(ctx context.Context, o Options, index, round int) error {
	runtime.LockOSThread()
	data := make([]byte, o.Write)
	for i := range data {
		data[i] = byte(i)*31 + byte(index) // no hole in the emulated drive's file
	}
	if err := crew.Ready(); err != nil {
		return err
	}
	for n := index; n < o.Files && ctx.Err() == nil; n += o.Writers {
		f, err := os.OpenFile(o.place(round, n), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		for left := o.size(round, n); left > 0 && err == nil; {
			var k int
			k, err = f.Write(data[:min(left, o.Write)])
			left -= int64(k)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
