package drive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spindle/internal/nbd"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/pipeline/drive/timing"
)

// listen serves d to every client of a unix socket and gives a URI of it.
func listen(t testing.TB, d *Drive) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nbd") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { l.Close(); cancel(); os.RemoveAll(dir) })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go nbd.Serve(ctx, conn, d, d.Export())
		}
	}()
	return "nbd+unix:///?socket=" + path
}

func run(t testing.TB, path string, args ...string) string {
	t.Helper()
	out, err := proc.Run(t.Context(), proc.Cmd{Path: path, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Stdout)
}

// shuffled answers each request after a time of its own, so that answers come in
// any order. It is long beside what a busy host, or one that watches for races,
// needs for a request: what is due when it is taken is answered at once.
type shuffled struct {
	rng  *rand.Rand
	done []timing.Completion
	now  time.Duration
}

func (s *shuffled) Arrive(now time.Duration, r timing.Request) {
	c := timing.Completion{ID: r.ID, Start: now, At: now + time.Duration(s.rng.Int64N(int64(4*time.Millisecond)))}
	s.done = append(s.done, c)
	slices.SortStableFunc(s.done, func(a, b timing.Completion) int { return int(a.At - b.At) })
}

func (s *shuffled) Next() (time.Duration, bool) {
	if len(s.done) == 0 {
		return 0, false
	}
	return max(s.done[0].At, s.now), true
}

func (s *shuffled) Advance(now time.Duration) []timing.Completion {
	s.now = now
	n := 0
	for n < len(s.done) && s.done[n].At <= now {
		n++
	}
	out := s.done[:n:n]
	s.done = s.done[n:]
	return out
}

// Ten thousand random requests, sixteen at a time and answered in any order,
// against a plain file.
func TestOracle(t *testing.T) {
	const size, n, depth = 8 << 20, 10000, 16
	d := make1(t, Spec{Profile: "sata-7200", Size: size}, Options{Backing: t.TempDir()})
	d.newModel = func() timing.Model { return &shuffled{rng: rand.New(rand.NewPCG(1, 1))} }
	d.Timed(true)
	conn := attach(t, d)
	oracle, err := os.Create(filepath.Join(t.TempDir(), "oracle"))
	if err != nil {
		t.Fatal(err)
	}
	defer oracle.Close()
	if err := oracle.Truncate(size); err != nil {
		t.Fatal(err)
	}

	type open struct {
		op       nbd.Op
		from, to int64
		want     []byte // of a read
	}
	inside := map[uint64]open{}
	r := rand.New(rand.NewPCG(2, 2))
	kinds := map[nbd.Op]int{}
	overtaken := 0
	var last uint64
	finish := func() {
		head := make([]byte, 16)
		if _, err := io.ReadFull(conn, head); err != nil {
			t.Fatal(err)
		}
		errno, cookie := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint64(head[8:])
		q, ok := inside[cookie]
		if !ok || errno != 0 {
			t.Fatalf("answer to %d, which is open: %v; error %d", cookie, ok, errno)
		}
		delete(inside, cookie)
		if cookie < last {
			overtaken++
		}
		last = cookie
		if q.op == nbd.Read {
			got := make([]byte, q.to-q.from)
			if _, err := io.ReadFull(conn, got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, q.want) {
				t.Fatalf("request %d: [%d, %d) differs from the oracle", cookie, q.from, q.to)
			}
		}
	}
	for id := range uint64(n) {
		for len(inside) >= depth {
			finish()
		}
		q := open{op: nbd.Op(r.IntN(5))}
		if q.op == nbd.Flush && r.IntN(4) > 0 {
			q.op = nbd.Write
		}
		// What overlaps is undefined while both are in flight.
		for {
			q.from = r.Int64N(size/512) * 512
			q.to = min(q.from+(1+r.Int64N(64))*512, size)
			free := true
			for _, x := range inside {
				free = free && (x.to <= q.from || q.to <= x.from)
			}
			if free {
				break
			}
		}
		var payload []byte
		cmd, flags := uint16(0), uint16(0)
		span := q.to - q.from
		switch q.op {
		case nbd.Read:
			q.want = make([]byte, span)
			if _, err := oracle.ReadAt(q.want, q.from); err != nil {
				t.Fatal(err)
			}
		case nbd.Write:
			cmd = 1
			payload = make([]byte, span)
			if r.IntN(4) > 0 { // else zeros
				for i := range payload {
					payload[i] = byte(r.Uint32())
				}
			}
		case nbd.Flush:
			cmd, q.from, q.to, span = 3, 0, 0, 0
		case nbd.Trim:
			cmd = 4
		case nbd.WriteZeroes:
			cmd = 6
		}
		if cmd == 1 || cmd == 6 {
			flags = uint16(r.IntN(2)) // FUA
		}
		if cmd == 1 || cmd == 4 || cmd == 6 {
			content := payload
			if content == nil {
				content = make([]byte, span)
			}
			if _, err := oracle.WriteAt(content, q.from); err != nil {
				t.Fatal(err)
			}
		}
		kinds[q.op]++
		m := message(cmd, int(span), payload)
		binary.BigEndian.PutUint16(m[4:], flags)
		binary.BigEndian.PutUint64(m[8:], id)
		binary.BigEndian.PutUint64(m[16:], uint64(q.from))
		inside[id] = q
		if _, err := conn.Write(m); err != nil {
			t.Fatal(err)
		}
	}
	for len(inside) > 0 {
		finish()
	}
	if overtaken < n/10 || len(kinds) != 5 {
		t.Errorf("%d answers out of order, kinds %v: the test does not test what it says", overtaken, kinds)
	}
	got, want := make([]byte, size), make([]byte, size)
	if err := d.content.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := oracle.ReadAt(want, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("at the end the drive differs from the oracle")
	}
}

// fio's own verification, with timing on, deep and with trims and flushes: of a
// disk, whose reads take so long that they queue on any host.
func TestFioVerifies(t *testing.T) {
	proctest.Need(t, "fio")
	d := make1(t, Spec{Profile: "sata-7200", Size: 32 << 20}, Options{})
	d.Timed(true)
	out := run(t, "fio", "--name=v", "--ioengine=nbd", "--uri="+listen(t, d), "--rw=randwrite", "--bs=4k-64k", "--bs_unaligned=0",
		"--size=32m", "--iodepth=16", "--fsync=32", "--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0", "--do_verify=1", "--output-format=terse")
	s := d.Stats()
	if s.Writes < 300 || s.Reads < 300 || s.Flushes < 10 || s.MaxDepth < 8 {
		t.Errorf("%d writes, %d reads, %d flushes, depth %d; fio: %.200s", s.Writes, s.Reads, s.Flushes, s.MaxDepth, out)
	}
}

// QEMU's own benchmark reads and writes with the depth that QEMU has.
func TestQemuImgBench(t *testing.T) {
	proctest.Need(t, "qemu-img")
	d := make1(t, Spec{Profile: "sata-7200", Size: 64 << 20}, Options{})
	d.Timed(true)
	uri := listen(t, d)
	run(t, "qemu-img", "bench", "-q", "-f", "raw", "-c", "1000", "-d", "16", "-s", "4k", "-S", "1056768", uri)
	run(t, "qemu-img", "bench", "-q", "-f", "raw", "-t", "none", "-w", "-c", "1000", "-d", "16", "-s", "8k", "--flush-interval=100", uri)
	if s := d.Stats(); s.Reads < 1000 || s.Writes < 1000 || s.Flushes < 9 || s.MaxDepth > 16 || s.MaxDepth < 4 || s.Timed != s.Lateness.Count {
		t.Errorf("%+v", s)
	}
}

// Data goes through a timed drive both ways, holes and all.
func TestNbdcopy(t *testing.T) {
	proctest.Need(t, "nbdcopy", "nbdinfo")
	const size = 24 << 20
	d := make1(t, Spec{Profile: "ssd-sata", Size: size}, Options{Backing: t.TempDir()})
	d.Timed(true)
	uri := listen(t, d)
	if out := run(t, "nbdinfo", uri); !strings.Contains(out, "can_fua: true") || !strings.Contains(out, fmt.Sprint(size)) {
		t.Errorf("nbdinfo: %s", out)
	}
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{3}).Read(data)
	clear(data[5<<20 : 9<<20])
	if err := os.WriteFile(src, data, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "nbdcopy", "--flush", src, uri)
	run(t, "nbdcopy", uri, dst)
	if back, err := os.ReadFile(dst); err != nil || !bytes.Equal(back, data) {
		t.Errorf("read back: %v, equal %v", err, bytes.Equal(back, data))
	}
	if s := d.Stats(); s.Flushes == 0 {
		t.Error("no flush arrived")
	}
}

// said gathers what a program prints.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// until waits for a text to be printed so many times.
func (s *said) until(t *testing.T, text string, times int) {
	t.Helper()
	for from := time.Now(); time.Since(from) < time.Minute; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		n := strings.Count(s.text.String(), text)
		s.mu.Unlock()
		if n >= times {
			return
		}
	}
	t.Fatalf("%q is not printed %d times:\n%s", text, times, s.text.String())
}

// QEMU is killed with SIGKILL after a flush and in the middle of later writes,
// and the drive loses its power: what was flushed is there, and of the rest
// whole sectors, old or new.
func TestFlushedSurvivesKill(t *testing.T) {
	proctest.Need(t, "qemu-system-x86_64")
	d := make1(t, Spec{Profile: "sata-7200", Size: 64 << 20}, Options{Losable: true})
	server, client, err := nbd.Pair()
	if err != nil {
		t.Fatal(err)
	}
	d.Timed(true)
	ended := make(chan error, 1)
	go func() { ended <- nbd.Serve(t.Context(), server, d, d.Export()) }()
	stdin, feed := io.Pipe()
	var out said
	qemu, err := proc.Start(t.Context(), proc.Cmd{Path: "qemu-system-x86_64", Stdin: stdin, Stdout: &out, Stderr: &out, ExtraFiles: []*os.File{client},
		Args: []string{"-M", "none", "-nodefaults", "-display", "none", "-S", "-monitor", "stdio",
			"-blockdev", "driver=nbd,node-name=d0,server.type=fd,server.str=3"}})
	client.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer qemu.Kill()
	say := func(line string) {
		if _, err := io.WriteString(feed, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say(`qemu-io d0 "write -P 0x5a 0 1M"`)
	out.until(t, "wrote 1048576/1048576", 1)
	say(`qemu-io d0 "flush"`)
	say(`qemu-io d0 "write -P 0x77 8M 512k"`)
	out.until(t, "wrote 524288/524288", 1)
	for i := range 40 {
		say(fmt.Sprintf(`qemu-io d0 "write -P 0x11 %dk 4k"`, 20<<10+(i*7919%40)*1024))
	}
	out.until(t, "wrote 4096/4096", 10)
	qemu.Kill()
	<-qemu.Done()
	if err := <-ended; !errors.Is(err, nbd.ErrHangUp) {
		t.Errorf("Serve = %v, want a hang-up", err)
	}
	lost, err := d.PowerCut()
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 64<<20)
	if err := d.content.ReadAt(content, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(content[:1<<20], bytes.Repeat([]byte{0x5a}, 1<<20)) {
		t.Error("flushed data is gone")
	}
	for off := 8 << 20; off < 64<<20; off += 512 {
		sector := content[off : off+512]
		if !bytes.Equal(sector, bytes.Repeat(sector[:1], 512)) || sector[0] != 0 && sector[0] != 0x77 && sector[0] != 0x11 {
			t.Fatalf("sector at %d is neither old nor new", off)
		}
	}
	t.Logf("%d stretches lost", len(lost))
}
