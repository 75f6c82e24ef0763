package drive

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/internal/nbd"
	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

const msec = unit.Duration(time.Millisecond)

func TestFaultValidate(t *testing.T) {
	for _, tt := range []struct {
		f    Fault
		want string // "" for none
	}{
		{Fault{Spike: &Spike{Every: 100, Delay: 50 * msec}}, ""},
		{Fault{Spike: &Spike{At: 1000 * msec, Delay: 50 * msec}}, ""},
		{Fault{Stall: &Stall{At: 1000 * msec, For: 5000 * msec}}, ""},
		{Fault{EIO: &EIO{From: 4096, Length: 4096, On: "read"}}, ""},
		{Fault{ReadOnly: &ReadOnly{AfterWrites: 0}}, ""},
		{Fault{PowerCut: &PowerCut{At: msec}}, ""},
		{Fault{}, "exactly one of"},
		{Fault{Stall: &Stall{For: msec}, PowerCut: &PowerCut{At: msec}}, "exactly one of"},
		{Fault{Spike: &Spike{Delay: msec}}, "one of every and at"},
		{Fault{Spike: &Spike{Every: 1, At: msec, Delay: msec}}, "one of every and at"},
		{Fault{Spike: &Spike{Every: 1}}, "delay"},
		{Fault{Spike: &Spike{Every: -1, Delay: msec}}, "negative"},
		{Fault{Stall: &Stall{At: msec}}, "for 0s"},
		{Fault{EIO: &EIO{From: 64 << 20, Length: 512}}, "not within"},
		{Fault{EIO: &EIO{From: 0, Length: 0}}, "not within"},
		{Fault{EIO: &EIO{Length: 512, On: "trim"}}, `on "trim"`},
		{Fault{ReadOnly: &ReadOnly{AfterWrites: -1}}, "negative"},
		{Fault{PowerCut: &PowerCut{}}, "at: missing"},
	} {
		s := small
		s.Faults = []Fault{tt.f}
		err := s.Validate()
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || fault.Of(err) != fault.Plan) {
			t.Errorf("%s: %v, want %q", tt.f, err, tt.want)
		}
	}
	if err := (Spec{Profile: "raw", Faults: []Fault{{PowerCut: &PowerCut{At: msec}}}}).Validate(); err == nil {
		t.Error("a drive without timing took a fault")
	}
}

// virtually runs requests one at a time in virtual time.
func virtually(t *testing.T, m timing.Model, n int, gap time.Duration) []time.Duration {
	t.Helper()
	var now time.Duration
	var took []time.Duration
	for id := range uint64(n) {
		from := now
		m.Arrive(now, timing.Request{ID: id, Op: timing.Read, LBA: int64(id) * 8, Sectors: 8})
		for done := false; !done; {
			due, ok := m.Next()
			if !ok {
				t.Fatal("stands still")
			}
			now = max(now, due)
			done = len(m.Advance(now)) > 0
		}
		took = append(took, now-from)
		now += gap
	}
	return took
}

func TestDelays(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name   string
		faults []Fault
		want   []time.Duration
	}{
		{"every third", []Fault{{Spike: &Spike{Every: 3, Delay: 50 * msec}}}, []time.Duration{2 * ms, 2 * ms, 52 * ms, 2 * ms, 2 * ms, 52 * ms}},
		{"one at 5 ms", []Fault{{Spike: &Spike{At: 5 * msec, Delay: 50 * msec}}}, []time.Duration{2 * ms, 2 * ms, 52 * ms, 2 * ms, 2 * ms}},
		{"stall", []Fault{{Stall: &Stall{At: 4 * msec, For: 30 * msec}}}, []time.Duration{2 * ms, 31 * ms, 2 * ms}},
		{"two at once", []Fault{{Spike: &Spike{Every: 2, Delay: 10 * msec}}, {Stall: &Stall{At: 4 * msec, For: 30 * msec}}}, []time.Duration{2 * ms, 31 * ms, 2 * ms, 12 * ms}},
	} {
		m := newDisturbed(&steady{service: 2 * ms}, tt.faults)
		if d := cmp.Diff(tt.want, virtually(t, m, len(tt.want), ms)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func read(off, n int64) nbd.Request {
	return nbd.Request{Op: nbd.Read, Offset: off, Length: n, Data: make([]byte, n)}
}

func write(off int64, data []byte) nbd.Request {
	return nbd.Request{Op: nbd.Write, Offset: off, Length: int64(len(data)), Data: data}
}

func TestErrors(t *testing.T) {
	s := small
	s.Faults = []Fault{
		{EIO: &EIO{From: 1 << 20, Length: 4096, On: "read"}},
		{EIO: &EIO{From: 2 << 20, Length: 4096}},
		{ReadOnly: &ReadOnly{AfterWrites: 2}},
	}
	d := make1(t, s, Options{})
	if err := <-ask(d, read(1<<20, 4096)); err != nil {
		t.Errorf("a drive that is not timed fails: %v", err)
	}
	d.Timed(true)
	page := make([]byte, 4096)
	for _, tt := range []struct {
		name string
		r    nbd.Request
		want error
	}{
		{"healthy", read(0, 4096), nil},
		{"touches the bad stretch", read(1<<20-4096, 8192), nbd.ErrIO},
		{"just behind it", read(1<<20+4096, 4096), nil},
		{"write where only reads fail", write(1<<20, page), nil},
		{"write where all fail", write(2<<20, page), nbd.ErrIO},
		{"second write", write(0, page), nil},
		{"third", write(0, page), nbd.ErrPerm},
		{"zeroes", nbd.Request{Op: nbd.WriteZeroes, Length: 4096}, nbd.ErrPerm},
		{"read of a drive gone read-only", read(0, 4096), nil},
		{"flush of it", nbd.Request{Op: nbd.Flush}, nil},
	} {
		if err := <-ask(d, tt.r); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	for i, want := range []int64{1, 1, 2} {
		if seen := d.Faults()[i]; seen.Count != want {
			t.Errorf("%s: want %d times", seen, want)
		}
	}
	d.Timed(false)
	if seen := d.Faults()[2]; seen.Count != 2 {
		t.Errorf("after timing ended %s", seen)
	}
}

// slowSSD is programmed so slowly that its buffer is never empty.
const slowSSD = `title: slow
ssd:
  capacity: 64MiB
  link: 500MB/s
  read: 10us
  write: 10us
  flash: {channels: 1, page: 4KiB, read: 80us, program: 250us, slc: 0, sustained: 2MB/s}
  buffer: {size: 4MiB}
  queue: {depth: 31}
`

// What a cut of power leaves: everything that a flush or FUA promised, and of
// everything else, sector by sector, a version that was there at some time
// since.
func TestPowerCut(t *testing.T) {
	for _, s := range []Spec{
		small,
		{Profile: "./slow.yaml", ProfileText: slowSSD},
		{Profile: "usb-25", Size: 64 << 20},
		{Profile: "nlsas-2t", Count: 4, RAID: "0", Size: 64 << 20},
		{Profile: "nlsas-2t", Count: 4, RAID: "5", Size: 64 << 20},
		{Profile: "nlsas-2t", Count: 4, RAID: "0", ControllerCache: 1 << 20, Size: 64 << 20},
	} {
		t.Run(s.Describe(), func(t *testing.T) {
			t.Parallel()
			d := make1(t, s, Options{Losable: true, Seed: 3})
			d.Timed(true)
			const sectors = 4000
			var version, durable [sectors]uint32
			r := rand.New(rand.NewPCG(5, 5))
			fill := func(lba, n int64) []byte {
				data := make([]byte, n*512)
				for i := range n {
					version[lba+i]++
					for j := range int64(512) {
						data[i*512+j] = byte(version[lba+i])
					}
				}
				return data
			}
			for range 150 {
				lba, n := r.Int64N(sectors-64), 1+r.Int64N(64)
				q := write(lba*512, fill(lba, n))
				q.FUA = r.IntN(20) == 0
				if err := <-ask(d, q); err != nil {
					t.Fatal(err)
				}
				if q.FUA {
					copy(durable[lba:lba+n], version[lba:lba+n])
				}
				if r.IntN(30) == 0 {
					if err := <-ask(d, nbd.Request{Op: nbd.Flush}); err != nil {
						t.Fatal(err)
					}
					durable = version
				}
			}
			// A burst that no media keeps up with.
			for i := range int64(100) {
				lba := (i*1237 + 11) % sectors
				if err := <-ask(d, write(lba*512, fill(lba, 1))); err != nil {
					t.Fatal(err)
				}
			}
			lost, err := d.PowerCut()
			if err != nil {
				t.Fatal(err)
			}
			if err := <-ask(d, read(0, 4096)); !errors.Is(err, nbd.ErrIO) {
				t.Errorf("a drive without power answers %v", err)
			}
			content := make([]byte, sectors*512)
			if err := d.content.ReadAt(content, 0); err != nil {
				t.Fatal(err)
			}
			older := 0
			for i := range int64(sectors) {
				sector := content[i*512 : i*512+512]
				if !bytes.Equal(sector, bytes.Repeat(sector[:1], 512)) {
					t.Fatalf("sector %d is a mixture", i)
				}
				got := uint32(sector[0])
				if got < durable[i] || got > version[i] {
					t.Fatalf("sector %d has version %d, promised %d, written %d", i, got, durable[i], version[i])
				}
				if got < version[i] {
					older++
				}
			}
			// How much is lost depends on how busy the host was; a safe cache
			// loses nothing, and what is lost is told.
			safe := s.ControllerCache > 0
			if safe && len(lost)+older > 0 || older > 0 && (len(lost) == 0 || d.Lost() == 0) {
				t.Errorf("%d sectors lost, %v told; a safe cache: %v", older, lost, safe)
			}
		})
	}
}

// hoard keeps everything in its cache until a flush.
type hoard struct {
	steady
	held map[int64]bool
}

func (h *hoard) Arrive(now time.Duration, r timing.Request) {
	h.steady.Arrive(now, r)
	if r.Op == timing.Flush {
		clear(h.held)
	}
	for lba := r.LBA; r.Op == timing.Write && lba < r.LBA+r.Sectors; lba++ {
		h.held[lba] = true
	}
}

func (h *hoard) Volatile(from, to int64) []timing.Extent {
	var out []timing.Extent
	for lba := range h.held {
		if from <= lba && lba < to {
			out = append(out, timing.Extent{LBA: lba, Sectors: 1})
		}
	}
	return out
}

// What was on the media comes back, however often it was written over since.
func TestPowerCutRestores(t *testing.T) {
	d := make1(t, small, Options{Losable: true})
	d.newModel = func() timing.Model { return &hoard{held: map[int64]bool{}} }
	put := func(lba int64, value byte) {
		t.Helper()
		if err := <-ask(d, write(lba*512, bytes.Repeat([]byte{value}, 1024))); err != nil {
			t.Fatal(err)
		}
	}
	put(0, 1) // before timing: on the media
	d.Timed(true)
	put(0, 2)
	put(4, 3)
	if err := <-ask(d, nbd.Request{Op: nbd.Flush}); err != nil {
		t.Fatal(err)
	}
	put(1, 4)
	put(4, 5)
	put(5, 6)
	put(8, 7)
	lost, err := d.PowerCut()
	if err != nil || len(lost) != 7 || d.Lost() != 7*512 {
		t.Errorf("lost %v, %s, %v; want 7 sectors", lost, d.Lost(), err)
	}
	var got []byte
	for lba := range int64(10) {
		sector := make([]byte, 512)
		if err := d.content.ReadAt(sector, lba*512); err != nil {
			t.Fatal(err)
		}
		got = append(got, sector[0])
	}
	if want := []byte{2, 2, 0, 0, 3, 3, 0, 0, 0, 0}; !bytes.Equal(got, want) {
		t.Errorf("sectors hold %v, want %v", got, want)
	}
	if _, err := d.PowerCut(); err == nil {
		t.Error("the power went twice")
	}
}

// A cut of power that the plan asks for comes by itself, at its time.
func TestPowerCutAt(t *testing.T) {
	s := small
	s.Faults = []Fault{{PowerCut: &PowerCut{At: 30 * msec}}}
	d := make1(t, s, Options{})
	d.Timed(true)
	from := time.Now()
	for i := int64(0); ; i++ {
		if err := <-ask(d, write(i*7919%15000*4096, bytes.Repeat([]byte{1}, 4096))); err != nil {
			if !errors.Is(err, nbd.ErrIO) {
				t.Errorf("fails with %v", err)
			}
			break
		}
		if i > 10000 {
			t.Fatal("the power never goes")
		}
	}
	if took := time.Since(from); took < 29*time.Millisecond {
		t.Errorf("the power went after %v, want 30 ms", took)
	}
	if seen := d.Faults()[0]; seen.Count != 1 || seen.First < 30*time.Millisecond {
		t.Errorf("%s; want it at 30 ms", seen)
	}
	d.Timed(true) // stays without power, and does not hang
	if err := <-ask(d, read(0, 4096)); !errors.Is(err, nbd.ErrIO) {
		t.Errorf("read of a dead drive: %v", err)
	}
}

func TestFaultNames(t *testing.T) {
	var got []string
	for _, f := range []Fault{
		{Spike: &Spike{Every: 100, Delay: 50 * msec}}, {Spike: &Spike{At: 1000 * msec, Delay: 50 * msec}}, {Stall: &Stall{At: 1000 * msec, For: 5000 * msec}},
		{EIO: &EIO{From: 4 << 30, Length: 1 << 20, On: "read"}}, {ReadOnly: &ReadOnly{AfterWrites: 1000}}, {PowerCut: &PowerCut{At: 20000 * msec}},
	} {
		got = append(got, fmt.Sprint(f))
	}
	want := []string{"spike: 50ms more for 1 request in 100", "spike: 50ms more for one request at 1s", "stall: no answer for 5s at 1s",
		"eio: 1MiB at 4GiB, reads", "read-only: after 1000 writes", "power-cut: at 20s"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
