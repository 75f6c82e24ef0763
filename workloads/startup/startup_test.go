package startup

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

func options(t *testing.T) Options {
	drop := filepath.Join(t.TempDir(), "drop_caches")
	if err := os.WriteFile(drop, nil, 0o600); err != nil { // the kernel's is there before
		t.Fatal(err)
	}
	return Options{
		Dir: t.TempDir(), Files: 20, Size: 1 << 20, Fsyncs: 3, Starts: 2, Limit: time.Minute, Seed: 3,
		Drop: drop, Stall: time.Hour, Report: filepath.Join(t.TempDir(), "report"),
	}
}

func TestPlan(t *testing.T) {
	for seed := range uint64(20) {
		o := Options{Files: 300, Size: 30 << 20, Seed: seed}
		sizes, reads := o.plan()
		total, read, last := int64(0), int64(0), piece{file: -1}
		for _, s := range sizes {
			total += s
		}
		for _, r := range reads {
			if r.offset+int64(r.length) > sizes[r.file] || r.length < 1 || r.length > 128<<10 {
				t.Fatalf("seed %d: %+v of %d bytes", seed, r, sizes[r.file])
			}
			if r.file < last.file || r.file == last.file && r.offset < last.offset+int64(last.length) || r.file > last.file+1 {
				t.Fatalf("seed %d: %+v after %+v", seed, r, last)
			}
			last, read = r, read+int64(r.length)
		}
		if total < o.Size*8/10 || total > o.Size*11/10 || last.file != len(sizes)-1 {
			t.Errorf("seed %d: %d bytes in %d files", seed, total, last.file+1)
		}
		if share := float64(read) / float64(total); share < 0.4 || share > 0.75 {
			t.Errorf("seed %d: reads %g of it", seed, share)
		}
		_, again := o.plan()
		if diff := cmp.Diff(reads, again, cmp.AllowUnexported(piece{})); diff != "" {
			t.Error(diff)
		}
	}
}

func run(t *testing.T, o Options) (Report, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args, err := o.Args()
	if err != nil {
		t.Fatal(err)
	}
	_, err = proc.Run(t.Context(), proc.Cmd{Path: self, Args: args})
	var r Report
	if text, rerr := os.ReadFile(o.Report); rerr == nil {
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
	}
	return r, err
}

func TestRun(t *testing.T) {
	o := options(t)
	if err := Prepare(o); err != nil {
		t.Fatal(err)
	}
	r, err := run(t, o)
	if err != nil {
		t.Fatal(err)
	}
	_, reads := o.plan()
	if len(r.Starts) != 2 || r.Ended != 0 || r.Read.Times.N() != int64(2*len(reads)) || r.Sync.Times.N() != 6 {
		t.Errorf("%d starts, %d ended, %d reads of %d, %d fsyncs", len(r.Starts), r.Ended, r.Read.Times.N(), len(reads), r.Sync.Times.N())
	}
	if text, err := os.ReadFile(o.Drop); err != nil || string(text) != "3\n" {
		t.Errorf("drop_caches: %q, %v", text, err)
	}
}

// A start that takes too long is ended and counts as the limit.
func TestLimit(t *testing.T) {
	o := options(t)
	if err := Prepare(o); err != nil {
		t.Fatal(err)
	}
	// The application opens its first file and hangs: nobody writes.
	os.Remove(o.file(0))
	if err := syscall.Mkfifo(o.file(0), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Limit, o.Starts = 50*time.Millisecond, 1
	r, err := run(t, o)
	if err != nil || r.Ended != 1 || len(r.Starts) != 1 || r.Starts[0] != 0.05 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFailures(t *testing.T) {
	o := options(t)
	if _, err := run(t, o); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without files: %v", err)
	}
	o.Files = 0
	if err := Prepare(o); err == nil {
		t.Error("no files are taken")
	}
	if _, ok := Role(t.Context(), nil, []string{"fio", "{}"}); ok {
		t.Error("a role of somebody else was taken")
	}
}
