package drive

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
	"spindle/internal/nbd"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/pipeline/drive/timing"
)

func make1(t testing.TB, s Spec, o Options) *Drive {
	t.Helper()
	d, err := New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

var small = Spec{Profile: "sata-7200", Size: 64 << 20}

// ask submits a request and gives what its answer will be.
func ask(d *Drive, r nbd.Request) <-chan error {
	answer := make(chan error, 1)
	d.Submit(&r, func(err error) {
		if r.Sent != nil && err == nil {
			r.Sent()
		}
		answer <- err
	})
	return answer
}

// manual is a model that completes what the test tells it to.
type manual struct {
	mu      sync.Mutex
	arrived []uint64
	release []timing.Completion
	now     time.Duration
}

func (m *manual) Arrive(now time.Duration, r timing.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrived, m.now = append(m.arrived, r.ID), now
}

func (m *manual) Next() (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now + time.Millisecond, true // keeps asking
}

func (m *manual) Advance(now time.Duration) []timing.Completion {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = now
	out := m.release
	m.release = nil
	return out
}

func (m *manual) complete() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.arrived {
		m.release = append(m.release, timing.Completion{ID: id, Start: m.now, At: m.now})
	}
	m.arrived = nil
}

func TestSwitching(t *testing.T) {
	d := make1(t, small, Options{})
	var models []*manual
	d.newModel = func() timing.Model { models = append(models, &manual{}); return models[len(models)-1] }

	if err := <-ask(d, nbd.Request{Op: nbd.Write, Length: 4096, Data: make([]byte, 4096)}); err != nil {
		t.Fatal(err)
	}
	if len(models) != 0 || d.Stats().Timed != 0 {
		t.Error("a new drive is timed")
	}
	d.Timed(true)
	before := ask(d, nbd.Request{Op: nbd.Read, Length: 4096, Data: make([]byte, 4096)})
	switched := make(chan struct{})
	go func() { d.Timed(true); close(switched) }()
	for {
		d.mu.Lock()
		switching := d.switching
		d.mu.Unlock()
		if switching {
			break
		}
		time.Sleep(time.Millisecond)
	}
	during := ask(d, nbd.Request{Op: nbd.Flush})
	select {
	case <-before:
		t.Error("answered before its model said so")
	case <-during:
		t.Error("answered while switching")
	case <-switched:
		t.Error("switched with a request in flight")
	case <-time.After(20 * time.Millisecond):
	}
	models[0].complete()
	if err := <-before; err != nil {
		t.Error(err)
	}
	<-switched
	if len(models) != 2 || len(models[1].arrived) != 1 {
		t.Fatalf("%d models, want a second one that has the request held", len(models))
	}
	models[1].complete()
	if err := <-during; err != nil {
		t.Error(err)
	}
	d.Timed(false)
	if err := <-ask(d, nbd.Request{Op: nbd.Flush}); err != nil {
		t.Error(err)
	}
	if s := d.Stats(); s.Timed != 2 || s.Lateness.Count != 2 {
		t.Errorf("%d timed, lateness of %d; want 2", s.Timed, s.Lateness.Count)
	}
}

func TestCloseAnswers(t *testing.T) {
	d := make1(t, small, Options{})
	d.newModel = func() timing.Model { return &manual{} }
	d.Timed(true)
	waiting := ask(d, nbd.Request{Op: nbd.Write, Length: 4096, Data: make([]byte, 4096)})
	switched := make(chan struct{})
	go func() { d.Timed(false); close(switched) }()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	<-switched
	for _, answer := range []<-chan error{waiting, ask(d, nbd.Request{Op: nbd.Flush})} {
		if err := <-answer; !errors.Is(err, nbd.ErrShutdown) {
			t.Errorf("answer %v, want ErrShutdown", err)
		}
	}
	if err := d.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
}

// No answer leaves early, and every one is counted where it belongs.
func TestTimedRun(t *testing.T) {
	d := make1(t, small, Options{})
	d.Timed(true)
	r := rand.New(rand.NewPCG(1, 1))
	from := time.Now()
	for range 20 {
		if err := <-ask(d, nbd.Request{Op: nbd.Read, Offset: r.Int64N(16000) * 4096, Length: 4096, Data: make([]byte, 4096)}); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(from)
	for _, op := range []nbd.Request{
		{Op: nbd.Write, Length: 8192, Data: make([]byte, 8192), FUA: true},
		{Op: nbd.Trim, Length: 1 << 20}, {Op: nbd.WriteZeroes, Length: 2 << 20}, {Op: nbd.Flush},
	} {
		if err := <-ask(d, op); err != nil {
			t.Fatal(err)
		}
	}
	s := d.Stats()
	if s.Reads != 20 || s.ReadBytes != 20*4096 || s.Writes != 1 || s.WriteBytes != 8192 || s.Forced != 1 ||
		s.Trims != 1 || s.TrimBytes != 1<<20 || s.Zeroes != 1 || s.ZeroBytes != 2<<20 || s.Flushes != 1 {
		t.Errorf("counted %+v", s)
	}
	if s.Timed != 24 || s.Lateness.Count != 24 || s.Lateness.OutOfRange != 0 || s.MaxDepth != 1 {
		t.Errorf("timed %d, lateness %+v, depth %d", s.Timed, s.Lateness, s.MaxDepth)
	}
	// Twenty reads cannot take less than the model says.
	if min := 20 * s.MeanService / 2; took < min {
		t.Errorf("20 reads took %v, the model says more than %v", took, min)
	}
	d.ResetStats()
	if s := d.Stats(); s.Reads != 0 || s.Timed != 0 || s.Lateness.Count != 0 || s.MeanService != 0 {
		t.Errorf("after ResetStats %+v", s)
	}
}

// A drive under qemu-io keeps content, timed and untimed, and counts what comes.
func TestQemuIO(t *testing.T) {
	proctest.Need(t, "qemu-io")
	for _, timed := range []bool{false, true} {
		d := make1(t, Spec{Profile: "sata-7200", Size: 64 << 20, WriteCache: "on"}, Options{Backing: t.TempDir()})
		d.Timed(timed)
		server, client, err := nbd.Pair()
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- nbd.Serve(context.Background(), server, d, d.Export()) }()
		out, err := proc.Run(t.Context(), proc.Cmd{Path: "qemu-io", ExtraFiles: []*os.File{client}, Args: []string{
			"-t", "writeback", "-c", "write -P 0x5a 1M 2M", "-c", "write -f -P 0x77 4k 4k", "-c", "write -z 2M 512k",
			"-c", "discard 8M 1M", "-c", "aio_write -P 1 16M 64k", "-c", "aio_write -P 2 40M 64k", "-c", "aio_flush",
			"-c", "read -P 0x5a 1M 1M", "-c", "read -P 0 2M 512k", "-c", "read -P 0x5a 2560k 512k", "-c", "read -P 0x77 4k 4k",
			"-c", "read -P 2 40M 64k", "-c", "flush", "--image-opts", "driver=nbd,server.type=fd,server.str=3"}})
		client.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if text := string(out.Stdout); strings.Contains(text, "failed") || strings.Contains(text, "Pattern") {
			t.Errorf("timed %v: %s", timed, text)
		}
		s := d.Stats()
		if s.Forced != 1 || s.Trims == 0 || s.Zeroes == 0 || s.Flushes == 0 || timed != (s.Timed > 0) || s.Timed != s.Lateness.Count {
			t.Errorf("timed %v: %+v", timed, s)
		}
		if err := d.Err(); err != nil {
			t.Error(err)
		}
	}
}

// A full host is the machinery's fault and an I/O error to the guest, which
// could make something of "no space".
func TestFullHost(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mount a small tmpfs: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	d := make1(t, Spec{Profile: "raw"}, Options{Backing: filepath.Join(dir, "disk")})
	full := bytes.Repeat([]byte{1}, 2<<20)
	err := <-ask(d, nbd.Request{Op: nbd.Write, Length: int64(len(full)), Data: full})
	if err == nil || errors.Is(err, nbd.ErrNoSpace) {
		t.Errorf("answer %v", err)
	}
	if err := d.Err(); fault.Of(err) != fault.Machinery || !strings.Contains(err.Error(), dir) {
		t.Errorf("Err = %v", err)
	}
}

func TestLate(t *testing.T) {
	good := Stats{MeanService: 10 * time.Millisecond, Lateness: Lateness{Count: 1000, Mean: 60e3, P50: 50e3, P99: 300e3, Max: 5e6}}
	for _, tt := range []struct {
		name  string
		spoil func(*Stats)
		want  string // "" for none
	}{
		{"good", func(*Stats) {}, ""},
		{"mean", func(s *Stats) { s.Lateness.Mean = 1100e3 }, "late in the mean, bound 1ms"},
		{"p99", func(s *Stats) { s.Lateness.P99 = 5100e3 }, "1 in 100 answers left 5.1ms late"},
		{"p99 of a slow drive", func(s *Stats) { s.Lateness.P99, s.MeanService = 5100e3, 21*time.Millisecond }, ""},
		{"cached answers", func(s *Stats) { s.MeanService = 200 * time.Microsecond }, ""},
		{"cached answers, too late", func(s *Stats) { s.MeanService, s.Lateness.Mean = 200*time.Microsecond, 210e3 }, "bound 200µs"},
		{"early", func(s *Stats) { s.Lateness.OutOfRange = 1 }, "1 of 1000 answers left early"},
		{"one stall", func(s *Stats) { s.Lateness.Max = 120e6 }, "an answer left 120ms late"},
		{"too few to say", func(s *Stats) { s.Lateness.Count, s.Lateness.P99 = 50, 6e6 }, ""},
	} {
		s := good
		tt.spoil(&s)
		err := s.late()
		switch {
		case tt.want == "":
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		case err == nil || !strings.Contains(err.Error(), tt.want) || fault.Reason(err) != "drive-late" || fault.Of(err) != fault.Machinery:
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if e := good.ModelError(); e != 0.006 {
		t.Errorf("model error %v, want 0.006", e)
	}
}
