package pipe

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

func TestMain(m *testing.M) {
	if code, ok := Role(context.Background(), []string{os.Args[0]}, os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// slowFile takes some time over the blocks at some places.
type slowFile struct {
	slow  map[int64]time.Duration
	began []int64 // milliseconds since the start, by block
	start time.Time
	mu    sync.Mutex
}

func (f *slowFile) ReadAt(b []byte, at int64) (int, error) {
	f.mu.Lock()
	f.began = append(f.began, time.Since(f.start).Milliseconds())
	f.mu.Unlock()
	time.Sleep(f.slow[at])
	for i := range b {
		b[i] = byte(at >> 12)
	}
	return len(b), nil
}

// A read that stalls for 55 ms: the next five begin 10 ms after one another, the
// blocks come out in order, and each latency is its own.
func TestStalledRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var said strings.Builder
		f := &slowFile{slow: map[int64]time.Duration{2 << 12: 55 * time.Millisecond, 3 << 12: 35 * time.Millisecond}, start: time.Now()}
		p := &pump{Options: Options{Block: 4096, Wait: 10 * time.Millisecond, Stall: 50 * time.Millisecond}, ctx: t.Context(), f: f, w: &out, said: &said}
		if err := p.run(8*4096 + 100); err != nil {
			t.Fatal(err)
		}
		// 0 and 1 at once, 2 stalls; 3 at 10 ms stalls too; the others at 20 ms.
		if diff := cmp.Diff([]int64{0, 0, 0, 10, 20, 20, 20, 20, 20}, f.began); diff != "" {
			t.Errorf("reads began at, in ms (-want +got):\n%s", diff)
		}
		if out.Len() != 8*4096+100 {
			t.Fatalf("%d bytes came out", out.Len())
		}
		for i, b := range out.Bytes() {
			if int(b) != i>>12 {
				t.Fatalf("byte %d is of block %d", i, b)
			}
		}
		if want := "read latency=35000 usec\nread latency=55000 usec\n"; said.String() != want {
			t.Errorf("said %q, want %q", said.String(), want)
		}
		r := p.reads.report(f.start)
		if r.Over != 2 || r.Bytes != 8*4096+100 || r.Times.Times.Max() != 55*time.Millisecond || len(r.Times.List) != 1 {
			t.Errorf("reads: %+v", r)
		}
		if p.extra != 6 { // all behind the first that stalled
			t.Errorf("%d threads of their own", p.extra)
		}
	})
}

type failing struct{}

func (failing) Write([]byte) (int, error)         { return 0, errors.New("no room") }
func (failing) ReadAt([]byte, int64) (int, error) { return 0, errors.New("bad block") }

func TestFailures(t *testing.T) {
	o := Options{Block: 4096, Wait: time.Millisecond}
	p := &pump{Options: o, ctx: t.Context(), f: &slowFile{}, w: failing{}, said: io.Discard}
	if err := p.run(1 << 20); err == nil || err.Error() != "no room" {
		t.Errorf("write fails: %v", err)
	}
	p = &pump{Options: o, ctx: t.Context(), f: failing{}, w: io.Discard, said: io.Discard}
	if err := p.run(1 << 20); err == nil || err.Error() != "bad block" {
		t.Errorf("read fails: %v", err)
	}
	for _, o := range []Options{{Block: 1, Wait: 1e6}, {Size: 1, Wait: 1e6}, {Size: 1, Block: 1}, {Size: 1, Block: 1, Wait: 1e6, Gzip: true}} {
		if err := Prepare(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if _, ok := Role(t.Context(), nil, []string{"fio", "{}"}); ok {
		t.Error("a role of somebody else was taken")
	}
}

// report is the form that fio's tool prints.
var report = regexp.MustCompile(`(?s)^(?:(?:read|write) latency=\d+ usec\n)*` + sideForm("READERS") + `(?:(?:read|write) latency=\d+ usec\n)*` + sideForm("WRITERS") +
	`Read rate \(KiB/sec\) : \d+\nWrite rate \(KiB/sec\): \d+\n$`)

func sideForm(name string) string {
	f := `Latency percentiles \(usec\) \(` + name + `\)\n`
	for _, p := range []string{"50.0000", "75.0000", "90.0000", "95.0000", "99.0000", "99.5000", "99.9000", "99.9900", "99.9990", "99.9999"} {
		f += "\t" + regexp.QuoteMeta(p) + `th: \d+\n`
	}
	return f + `Over=\d+, min=\d+, max=\d+\n`
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name          string
		rewrite, gzip bool
	}{{"to nowhere", false, false}, {"rewrite", true, false}, {"gzip", true, true}} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.gzip {
				proctest.Need(t, "gzip")
			}
			o := Options{Dir: t.TempDir(), Size: 300_000, Block: 4096, Wait: time.Second, Rewrite: tt.rewrite, Gzip: tt.gzip, Seed: 5, Stall: time.Hour, Report: filepath.Join(t.TempDir(), "report")}
			if err := Prepare(o); err != nil {
				t.Fatal(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			args, err := o.Args()
			if err != nil {
				t.Fatal(err)
			}
			out, err := proc.Run(t.Context(), proc.Cmd{Path: self, Args: args})
			if err != nil {
				t.Fatal(err)
			}
			if !report.Match(out.Stderr) {
				t.Errorf("said:\n%s", out.Stderr)
			}
			text, err := os.ReadFile(o.Report)
			if err != nil {
				t.Fatal(err)
			}
			var r Report
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			in, err := os.ReadFile(filepath.Join(o.Dir, InputFile))
			if err != nil || r.Read.Bytes != int64(len(in)) || r.Write.Bytes != r.Read.Bytes || r.Seconds < r.Read.Seconds {
				t.Errorf("%v: input %d, report %+v", err, len(in), r)
			}
			if !tt.rewrite {
				return
			}
			got, err := os.ReadFile(filepath.Join(o.Dir, OutputFile))
			var want bytes.Buffer
			o.Gzip = false
			if ferr := o.fill(&want); err != nil || ferr != nil || sha256.Sum256(got) != sha256.Sum256(want.Bytes()) {
				t.Errorf("%v: %d bytes came out, want the %d that went in", err, len(got), want.Len())
			}
		})
	}
}
