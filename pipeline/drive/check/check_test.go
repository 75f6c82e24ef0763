package check

import (
	"math"
	"strings"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc/proctest"
	"spindle/internal/unit"
	"spindle/pipeline/drive"
	"spindle/pipeline/drive/timing"
)

// What is expected of each load is what closed forms say of the drive.
func TestExpect(t *testing.T) {
	s := drive.Spec{Profile: "sata-7200"}
	info, err := s.Show()
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range loads(16) {
		per, rate, err := Expect(s, j, 60*time.Second, 1)
		if err != nil {
			t.Fatal(err)
		}
		var got, want float64
		switch {
		case j.RW == "read" && j.inner:
			got, want = float64(rate), float64(info.SequentialInner)
		case j.Bytes:
			got, want = float64(rate), float64(info.SequentialOuter)
		case j.RW == "randread" && j.Depth == 1:
			got, want = per, float64(time.Second)/float64(info.RandomRead)
		case j.RW == "randread":
			// Choosing among 16 gives 1.5 to 2.2 times as many.
			got, want = per, float64(time.Second)/float64(info.RandomRead)*1.85
			if math.Abs(got/want-1) < 0.2 {
				got = want
			}
		case j.Fsync:
			// Into the cache and out: a seek, a settle and half a turn.
			turn := info.HalfTurn + info.SeekWrite
			got, want = per, float64(time.Second)/float64(turn)
		default:
			continue // half of it is the cache's
		}
		if math.Abs(got/want-1) > 0.03 {
			t.Errorf("%s at depth %d: %.4g, by arithmetic %.4g", j.Name, j.Depth, got, want)
		}
	}
	if _, _, err := Expect(drive.Spec{Profile: "raw"}, loads(1)[0], time.Second, 1); err == nil {
		t.Error("something is expected of a drive without timing")
	}
}

// A replay takes as long as the requests took when they came.
func TestReplay(t *testing.T) {
	s := drive.Spec{Profile: "sata-7200", QueueDepth: 1}
	m, err := s.Model(3)
	if err != nil {
		t.Fatal(err)
	}
	var list []timing.Request
	var now time.Duration
	for id := range uint64(200) {
		q := timing.Request{ID: id + 1, Op: timing.Op(id % 2), LBA: int64(id*id*7919%900000) * 8, Sectors: 8}
		list = append(list, q)
		m.Arrive(now, q)
		for done := false; !done; {
			due, _ := m.Next()
			now = max(now, due)
			done = len(m.Advance(now)) > 0
		}
	}
	again, err := s.Model(3)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := replay(again, list, 1); err != nil || got != now {
		t.Errorf("replayed in %v, %v; it took %v", got, err, now)
	}
}

// A whole check, of which the figures are the host's and not looked at: that
// the loads are what they say, and that the model's side follows from them.
func TestDirect(t *testing.T) {
	proctest.Need(t, "fio")
	s := drive.Spec{Profile: "sata-7200", MediaRate: 40e6, Size: 40 * unit.GiB}
	r, err := Direct(t.Context(), s, Options{Each: 500 * time.Millisecond, Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 7 || r.Where != "direct" || r.Early > 5*time.Millisecond {
		t.Fatalf("%+v", r)
	}
	for _, x := range r.Rows {
		if x.Requests < 5 || x.Model <= 0 || x.Measured <= 0 || math.Abs(x.Measured/x.Model-1-x.Error) > 1e-9 {
			t.Errorf("%+v", x)
		}
		if (x.Bound == 0.03) != (x.Depth == 1) {
			t.Errorf("%s at depth %d: bound %v", x.Load, x.Depth, x.Bound)
		}
	}
	if outer := r.Rows[0]; outer.Unit != "MB/s" || math.Abs(outer.Model/40-1) > 0.1 {
		t.Errorf("the model streams %+v, want 40 MB/s", outer)
	}
	text := r.Text()
	for _, want := range []string{"sata-7200", "sequential read, inner", "late p99", "3 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if _, err := Direct(t.Context(), drive.Spec{Profile: "ideal"}, Options{}); fault.Of(err) != fault.Plan {
		t.Errorf("a drive without timing: %v", err)
	}
}

func TestOver(t *testing.T) {
	r := Result{Rows: []Row{{Load: "a", Error: 0.031, Bound: 0.03}, {Load: "b", Error: -0.031, Bound: 0.03}, {Load: "c", Error: -0.03, Bound: 0.03}, {Load: "d", Error: 5}}}
	over := r.Over()
	if len(over) != 2 || over[0].Load != "a" || over[1].Load != "b" {
		t.Errorf("over the bound: %+v", over)
	}
	if row := GuestRow(drive.Spec{}, Load{Name: "x", Depth: 1, Block: 1e6, Bytes: true}, 100, 95); row.Bound != GuestBound || row.Measured != 95 || math.Abs(row.Error+0.05) > 1e-9 {
		t.Errorf("%+v", row)
	}
}

// fio's answers that are none.
func TestParse(t *testing.T) {
	for _, text := range []string{"", "{}", `{"jobs":[{"error":5}]}`, "fio: hello"} {
		if _, _, _, err := parse([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	took, bytes, count, err := parse([]byte(`{"jobs":[{"error":0,"read":{"io_bytes":8192,"total_ios":2,"runtime":1500},"write":{"io_bytes":4096,"total_ios":1,"runtime":1400}}]}`))
	if err != nil || took != 1500*time.Millisecond || bytes != 12288 || count != 3 {
		t.Errorf("%v %d %d %v", took, bytes, count, err)
	}
}

// What the model does with the requests of a load is what it was expected to do
// under that load, and nothing is said of requests that were cut up.
func TestAsked(t *testing.T) {
	spec := drive.Spec{Profile: "sata-7200"}
	dev, err := spec.Device()
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range loads(1) {
		per, _, err := Expect(spec, j, 20*time.Second, 3)
		if err != nil {
			t.Fatal(err)
		}
		var tape Tape
		next := j.stream(dev.Size, 3)
		for range int(per * 20) {
			tape.Note(next())
			if j.Fsync {
				tape.Note(next())
			}
		}
		seen := tape.Rewind()
		got, err := Asked(spec, j, seen, 3)
		if err != nil || math.Abs(got/per-1) > 0.005 {
			t.Errorf("%s: %v, %v, expected %v", j.Name, got, err, per)
		}
		seen[0].Sectors += 8
		if got, err := Asked(spec, j, seen, 3); err != nil || got != 0 {
			t.Errorf("%s, cut up: %v, %v", j.Name, got, err)
		}
	}
}
