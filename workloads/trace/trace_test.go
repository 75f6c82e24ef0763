package trace

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

// page builds a page as include/linux/ring_buffer.h describes it.
type page struct{ b []byte }

func newPage(at uint64) *page {
	return &page{binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, at), 0)}
}

func (p *page) word(kind, delta uint32, more ...uint32) *page {
	p.b = binary.LittleEndian.AppendUint32(p.b, delta<<5|kind)
	for _, m := range more {
		p.b = binary.LittleEndian.AppendUint32(p.b, m)
	}
	return p
}

func (p *page) bytes() []byte {
	binary.LittleEndian.PutUint64(p.b[8:], uint64(len(p.b)-16))
	return append(p.b, make([]byte, PageSize-len(p.b))...)
}

func TestEachEvent(t *testing.T) {
	type seen struct {
		At   uint64
		ID   int
		PID  int
		Size int
	}
	body := func(id, pid uint32) []uint32 { return []uint32{id, pid} }
	p := newPage(1000)
	p.word(2, 5, body(7, 42)...)                     // two words of data, 5 ns later
	p.word(typeTimeExtend, 3, 2)                     // 2<<27 + 3 ns
	p.word(0, 1, append([]uint32{16}, 8, 43, 99)...) // its length in a word of its own: 12 bytes of data
	p.word(typePadding, 4, 8, 0)                     // thrown away, but its time counts
	p.word(typeTimeStamp, 77, 9)                     // 9<<27 + 77, whatever was before
	p.word(3, 0, 9, 44, 0)
	p.word(typePadding, 0) // the rest is nothing
	p.word(2, 1, body(1, 1)...)
	var got []seen
	missed, err := EachEvent(p.bytes(), 3, func(e Event) { got = append(got, seen{e.At, e.ID(), e.PID(), len(e.Data)}) })
	want := []seen{{1005, 7, 42, 8}, {1005 + 2<<27 + 3 + 1, 8, 43, 12}, {9<<27 + 77, 9, 44, 12}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || missed {
		t.Error(err, missed, diff)
	}
}

func TestEachEventRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"short":     make([]byte, 12),
		"too long":  func() []byte { b := newPage(0).bytes(); binary.LittleEndian.PutUint64(b[8:], 5000); return b }(),
		"entry":     newPage(0).word(20, 0).bytes(),
		"length":    newPage(0).word(0, 0, 2, 0).bytes(),
		"no length": newPage(0).word(0, 0).bytes(),
	} {
		if name == "entry" || name == "no length" {
			binary.LittleEndian.PutUint64(b[8:], 4)
		}
		if _, err := EachEvent(b, 0, func(Event) {}); err == nil {
			t.Error(name, "is no error")
		}
	}
}

func FuzzEachEvent(f *testing.F) {
	f.Add(newPage(1).word(2, 5, 7, 42).word(0, 1, 16, 8, 43, 99).bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		EachEvent(b, 0, func(e Event) {
			if len(e.Data) < commonSize {
				t.Error("an event without a head")
			}
			e.ID()
			e.PID()
		})
	})
}

func FuzzParseFormat(f *testing.F) {
	f.Add("name: x\nID: 3\nformat:\n\tfield:char bdi[32];\toffset:8;\tsize:32;\tsigned:0;\n")
	f.Fuzz(func(t *testing.T, text string) {
		x, err := ParseFormat(text)
		if err != nil {
			return
		}
		e := Event{Data: make([]byte, 64)}
		for name := range x.fields {
			x.Int(e, name)
			x.Text(e, name)
		}
	})
}

// event builds an event of 64-bit fields behind the common ones.
func event(at time.Duration, id, pid int, fields ...int64) Event {
	b := binary.LittleEndian.AppendUint32(nil, uint32(id))
	b = binary.LittleEndian.AppendUint32(b, uint32(pid))
	for _, v := range fields {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return Event{At: uint64(at), Data: b}
}

func longs(id int, names ...string) Format {
	f := Format{ID: id, fields: map[string]field{}}
	for i, n := range names {
		f.fields[n] = field{8 + 8*i, 8, true}
	}
	return f
}

func TestExplain(t *testing.T) {
	x := &Explainer{
		pause: longs(1, "pause"), chunk: longs(2, "wrote"),
		issue: longs(3, "dev", "nr_sector"), complete: longs(4, "dev"), requeue: longs(5, "dev"),
		Drives: map[int64]bool{},
	}
	x.Drive("8:16")
	const sdb, sda = 8<<20 | 16, 8 << 20
	s := time.Second
	events := []Event{
		event(9*s, 1, 10, 500), // before the beginning
		event(10*s, 1, 10, 200),
		event(10*s, 3, 10, sdb, 8),
		event(10*s+s/2, 3, 10, sda, 8), // another drive
		event(11*s, 3, 10, sdb, 24),    // two of them for half a second
		event(11*s, 2, 7, 1024),
		event(11*s, 2, 7, 0), // nothing written
		event(11*s, 1, 11, -5),
		event(11*s+s/2, 4, 0, sdb),
		event(11*s+s/2, 1, 11, 100),
		event(11*s+s/2, 1, 11, 40),
		event(12*s, 5, 0, sdb), // back to the queue: the drive has none for half a second
		event(12*s+s/2, 3, 0, sdb, 0),
		event(12*s+s/2, 2, 7, 512),
		event(12*s+s/2, 2, 7, 512),
		event(13*s, 4, 0, sdb),
		event(13*s+s/4, 4, 0, sdb), // of a request from before the trace
	}
	got := x.Explain(events, 10*s, 14*s, 2*s, map[int]string{10: "dd"})
	want := Explained{
		Seconds: 4, Events: len(events),
		Held:   []Held{{Task: "dd", PID: 10, Seconds: 0.2, Pauses: 1, Longest: 0.2}, {Task: "<...>", PID: 11, Seconds: 0.14, Pauses: 2, Longest: 0.1}},
		Chunks: Chunks{N: 3, Pages: 2048, Mean: 2048.0 / 3, P50: 512, Max: 1024},
		// One for 1 s, two for 0.5, one for 0.5, none for 0.5, one for 0.5.
		Depth: Depth{Requests: 3, Mean: 3.0 / 4, Busy: 3.0 / 2.5, Max: 2, Bytes: 16 * 512},
		Series: []Interval{
			{T: 2, Held: 0.34, Pages: 1024, Chunk: 1024, Depth: 2.5 / 2, Most: 2},
			{T: 4, Pages: 1024, Chunk: 512, Depth: 0.5 / 2, Most: 1},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Error(diff)
	}
}

// This host's kernel and trace-cmd on the same events: the kernel's own text
// says what is in the buffer, and trace-cmd what is in the packed form.
func TestRealTrace(t *testing.T) {
	proctest.Need(t, "trace-cmd", "dd")
	const tracefs = "/sys/kernel/tracing"
	if _, err := os.Stat(filepath.Join(tracefs, "events", "header_page")); err != nil {
		t.Skipf("this host lets nobody trace: %v", err)
	}
	dir := filepath.Join(tracefs, "instances", "spindle-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("this host lets nobody trace: %v", err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	if err := Start(Config{Dir: dir, Words: []string{Explain, "writeback:writeback_start"}, KiB: 8 << 10}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "f")
	if _, err := proc.Run(t.Context(), proc.Cmd{Path: "dd", Args: []string{"if=/dev/urandom", "of=" + file, "bs=1M", "count=32", "conv=fsync"}}); err != nil {
		t.Fatal(err)
	}
	if err := Off(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "trace")) // takes nothing away
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewExplainer(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	events, err := b.Events()
	if err != nil {
		t.Fatal(err)
	}
	want := kernelText(string(text))
	if len(want) == 0 {
		t.Skip("this host's dd gave no event: its drive is none of the block layer's")
	}
	names := map[int]string{x.chunk.ID: "writeback_single_inode", x.issue.ID: "block_rq_issue", x.complete.ID: "block_rq_complete", x.pause.ID: "balance_dirty_pages"}
	got := map[string]int{}
	wrote := int64(0)
	for _, e := range events {
		if n, ok := names[e.ID()]; ok {
			got[n]++
		}
		if e.ID() == x.chunk.ID {
			wrote += x.chunk.Int(e, "wrote")
		}
	}
	for _, n := range names {
		if got[n] != want[n] {
			t.Errorf("%d of %s, the kernel says %d", got[n], n, want[n])
		}
	}
	if wrote != int64(want["wrote"]) {
		t.Errorf("wrote %d pages, the kernel says %d", wrote, want["wrote"])
	}
	first, last := stamp(events[0].At), stamp(events[len(events)-1].At)
	if math.Abs(first-want2(text, false)) > 2e-6 || math.Abs(last-want2(text, true)) > 2e-6 {
		t.Errorf("from %f to %f, the kernel says %f to %f", first, last, want2(text, false), want2(text, true))
	}

	packed := filepath.Join(t.TempDir(), "trace.dat")
	f, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Pack(f, dir, ""); err != nil {
		t.Fatal(err)
	}
	f.Close()
	out, err := proc.Run(t.Context(), proc.Cmd{Path: "trace-cmd", Args: []string{"report", "-i", packed}})
	if err != nil {
		t.Fatal(err)
	}
	said := kernelText(string(out.Stdout))
	delete(said, "wrote") // it prints that one its own way, or not at all
	delete(want, "wrote")
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-kernel +trace-cmd)\n%s", diff)
	}
}

var lineForm = regexp.MustCompile(`(?m)^.*\s([0-9]+\.[0-9]+): ([a-z_]+): (.*)$`)

// kernelText counts the events of the kernel's text, or trace-cmd's, by name, and
// the pages that writeback_single_inode wrote.
func kernelText(text string) map[string]int {
	n := map[string]int{}
	for _, m := range lineForm.FindAllStringSubmatch(text, -1) {
		n[m[2]]++
		if w := regexp.MustCompile(`wrote=([0-9]+)`).FindStringSubmatch(m[3]); w != nil {
			pages, _ := strconv.Atoi(w[1])
			n["wrote"] += pages
		}
	}
	return n
}

func stamp(ns uint64) float64 { return float64(ns) / 1e9 }

func want2(text []byte, last bool) float64 {
	all := lineForm.FindAllStringSubmatch(string(text), -1)
	m := all[0]
	if last {
		m = all[len(all)-1]
	}
	s, _ := strconv.ParseFloat(m[1], 64)
	return s
}

func TestNames(t *testing.T) {
	if diff := cmp.Diff(map[int]string{1: "init", 20: "a b"}, names("1 init\n20 a b\nx y\n")); diff != "" {
		t.Error(diff)
	}
	if got := overrun("entries: 5\noverrun: 3\ncommit overrun: 1\nbytes: 9\ndropped events: 2\n"); got != 6 {
		t.Error(got)
	}
	if diff := cmp.Diff([]string{"writeback/balance_dirty_pages/enable"}, Files("writeback:balance_dirty_pages")); diff != "" {
		t.Error(diff)
	}
	if len(Files(Explain)) != 5 || strings.Join(Files("block"), "") != "block/enable" {
		t.Error(Files(Explain), Files("block"))
	}
}
