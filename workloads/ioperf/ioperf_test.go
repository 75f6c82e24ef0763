package ioperf

import (
	"bytes"
	"context"
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"spindle/internal/proc"
)

func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT)
	defer stop()
	if code, ok := Role(ctx, []string{os.Args[0]}, os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// line is the form of the published program's output, in mails of April 2014.
var line = regexp.MustCompile(`^(read|wal|commit)\[([0-9]+)\]: avg: ([0-9]+\.[0-9]) msec; max: ([0-9]+\.[0-9]) msec$`)

// Mail of 29 Apr 2014 (Dave Chinner, btrfs): lines as they were printed. A commit
// that took 14 ms on average was printed as 0.7.
func TestPublishedLines(t *testing.T) {
	for _, tt := range []struct {
		line  string
		op    string
		every int
		times func(i int) time.Duration
	}{
		{"read[11332]: avg: 0.6 msec; max: 4481.2 msec", readOp, readInterval, func(i int) time.Duration {
			if i == 77 {
				return 4481200 * time.Microsecond
			}
			return 152 * time.Microsecond // and the one of 4.5 s makes it 0.6
		}},
		{"wal[11326]: avg: 0.0 msec; max: 0.1 msec", walOp, walInterval, func(int) time.Duration { return 100 * time.Microsecond }},
		{"commit[11326]: avg: 0.7 msec; max: 5302.3 msec", commitOp, commitInterval, func(i int) time.Duration {
			if i == 3 {
				return 5302300 * time.Microsecond
			}
			return 3500 * time.Microsecond // 14.1 ms on average
		}},
	} {
		var out bytes.Buffer
		in := interval{w: &out, op: tt.op, pid: 11326, every: tt.every}
		if tt.op == readOp {
			in.pid = 11332
		}
		for i := range tt.every {
			if out.Len() > 0 {
				t.Fatalf("%s: printed after %d", tt.op, i)
			}
			in.add(tt.times(i))
		}
		if got := strings.TrimSuffix(out.String(), "\n"); got != tt.line {
			t.Errorf("printed %q, want %q", got, tt.line)
		}
		// Begins anew.
		in.add(0)
		if in.n != 1 || in.max != 0 {
			t.Errorf("%s: %+v", tt.op, in)
		}
	}
}

// glibc's first numbers after srandom(1), as a fraction of 2^31-1 of 48 GiB less
// a byte, in exact arithmetic.
func TestPlaces(t *testing.T) {
	o := Options{Data: 48 << 30, Seed: 1}
	next := o.places(0)
	for i, random := range []int64{1804289383, 846930886, 1681692777, 1714636915} {
		want := new(big.Int).Mul(big.NewInt(random), big.NewInt(o.Data-1))
		want.Div(want, big.NewInt(1<<31-1))
		if got := next(); got-want.Int64() > 1 || want.Int64()-got > 1 { // doubles, as in the original
			t.Errorf("place %d is %d, want %s", i, got, want)
		}
	}
	// All processes visit the same places, unless they are to differ.
	for _, independent := range []bool{false, true} {
		o.Independent = independent
		a, b := o.places(0), o.places(17)
		same := 0
		for range 100 {
			if a() == b() {
				same++
			}
		}
		if !independent && same != 100 || independent && same > 2 {
			t.Errorf("independent %v: %d of 100 places are the same", independent, same)
		}
	}
	// Unaligned blocks touch three pages, which is the 24.4 sectors of the
	// mails; aligned ones two.
	for aligned, want := range map[bool]float64{false: 3, true: 2} {
		o.Aligned = aligned
		next, pages := o.places(0), int64(0)
		const n = 10000
		for range n {
			at := next()
			if at < 0 || at >= o.Data {
				t.Fatalf("place %d", at)
			}
			pages += (at+Block-1)/4096 - at/4096 + 1
		}
		if got := float64(pages) / n; got < want-0.01 || got > want+0.01 {
			t.Errorf("aligned %v: %g pages a block, want %g", aligned, got, want)
		}
	}
}

// start runs the program as a process of its own.
func start(t *testing.T, o Options) (*proc.Process, *os.File) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args, err := o.Args()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(t.Context(), proc.Cmd{Path: self, Args: args, Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	return p, out
}

func report(t *testing.T, o Options) Report {
	t.Helper()
	text, err := os.ReadFile(o.Report)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func options(t *testing.T) Options {
	return Options{
		Dir: t.TempDir(), Data: 1 << 20, WAL: 8 * Block, Readers: 3, Seed: 1,
		CheckpointWrites: 10, CheckpointPause: time.Millisecond, WALPause: time.Millisecond,
		Duration: 300 * time.Millisecond, Stall: time.Hour, Report: filepath.Join(t.TempDir(), "report"),
	}
}

func TestRun(t *testing.T) {
	o := options(t)
	p, out := start(t, o)
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	r := report(t, o)
	reads, wals, commits, writes, syncs := r.Read.Times.N(), r.WAL.Times.N(), r.Commit.Times.N(), r.Checkpoint.Times.N(), r.Sync.Times.N()
	if reads == 0 || wals == 0 || commits != (wals+4)/5 || writes == 0 || syncs != writes/10 {
		t.Errorf("reads %d, log %d, commits %d, checkpoint %d, syncs %d", reads, wals, commits, writes, syncs)
	}
	if s := r.Seconds(); s < 0.3 {
		t.Errorf("took %g s", s)
	}
	// Files are one block longer than their size and are made once.
	for name, want := range map[string]int64{DataFile: o.Data + Block, WALFile: o.WAL + Block} {
		st, err := os.Stat(filepath.Join(o.Dir, name))
		if err != nil || st.Size() != want {
			t.Errorf("%s: %v, %v; want %d bytes", name, st, err, want)
		}
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	starts, ends, lines := 0, 0, 0
	for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		switch {
		case l == "starting fsync() of files":
			starts++
		case l == "finished fsync() of files":
			ends++
		case line.MatchString(l):
			lines++
		default:
			t.Errorf("line %q", l)
		}
	}
	if int64(starts) != syncs || ends != starts || lines < int(reads)/readInterval-o.Readers {
		t.Errorf("%d starts, %d ends, %d lines", starts, ends, lines)
	}
	if left, _ := filepath.Glob(o.Report + ".*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Commits that draw their distances do so from the seed, and take the time.
func TestCommitPause(t *testing.T) {
	o := options(t)
	o.CommitPause = 20 * time.Millisecond
	p, _ := start(t, o)
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	r := report(t, o)
	n := r.Commit.Times.N()
	draw := rand.New(rand.NewPCG(uint64(o.Seed), 0))
	var least time.Duration
	for range n - 1 {
		least += time.Duration(draw.Int64N(int64(o.CommitPause) + 1))
	}
	if n < 1 || least.Seconds() > r.Seconds() {
		t.Errorf("%d commits with pauses of %s in %g s", n, least, r.Seconds())
	}
	if err := (Options{Data: 1 << 20, WAL: 1 << 20, CheckpointWrites: 1, Duration: 1, CommitPause: -1}).check(); err == nil {
		t.Error("a negative pause is no error")
	}
}

// One that is asked to stop reports what there was.
func TestStop(t *testing.T) {
	o := options(t)
	o.Duration, o.Stall = time.Hour, 0
	p, _ := start(t, o)
	data := filepath.Join(o.Dir, DataFile)
	for {
		if _, err := os.Stat(data); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	p.Signal(syscall.SIGINT)
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	r := report(t, o)
	if len(r.Stalls) == 0 {
		t.Error("with every operation a stall there is none")
	}
	for i, s := range r.Stalls {
		if i > 0 && s.Start < r.Stalls[i-1].Start {
			t.Fatal("stalls are not in order")
		}
	}
}

func TestFailures(t *testing.T) {
	for what, change := range map[string]func(*Options){
		"no such file": func(o *Options) { o.Dir = filepath.Join(o.Dir, "none") },
		"at least":     func(o *Options) { o.Data = 100 },
		"out of range": func(o *Options) { o.Duration = 0 },
		"unexpected EOF": func(o *Options) { // a data file that is too short
			if err := os.WriteFile(filepath.Join(o.Dir, DataFile), make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
			o.Seed = 1
		},
	} {
		o := options(t)
		change(&o)
		var said strings.Builder
		self, _ := os.Executable()
		args, err := o.Args()
		if err != nil {
			t.Fatal(err)
		}
		_, err = proc.Run(t.Context(), proc.Cmd{Path: self, Args: args, Stderr: &said})
		if err == nil || !strings.Contains(said.String(), what) && !(what == "unexpected EOF" && strings.Contains(said.String(), "EOF")) {
			t.Errorf("%s: %v, %s", what, err, said.String())
		}
	}
	for _, args := range [][]string{{"ioperf"}, {"other", "{}"}} {
		if _, ok := Role(t.Context(), nil, args); ok {
			t.Errorf("%q was taken", args)
		}
	}
	text, _ := json.Marshal(options(t))
	for _, which := range []string{"", "99", "-1", "x"} {
		if code, ok := Role(t.Context(), nil, []string{memberRole, string(text), which}); !ok || code == 0 {
			t.Errorf("process %q: %d, %v", which, code, ok)
		}
	}
}
