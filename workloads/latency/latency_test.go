package latency

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fioSide is a latency of fio's own report, with its histogram and the
// percentiles that fio made of it.
type fioSide struct {
	N    int64            `json:"N"`
	Max  int64            `json:"max"`
	Bins map[string]int64 `json:"bins"`
	Perc map[string]int64 `json:"percentile"`
}

// The percentiles that fio printed, from the same samples: each within one
// bucket of fio's (six significant bits).
func TestQuantileIsFios(t *testing.T) {
	text, err := os.ReadFile("../testdata/fio-one.json")
	if err != nil {
		t.Fatal(err)
	}
	var rep struct {
		Jobs []struct {
			Read, Write struct {
				Latency fioSide `json:"clat_ns"`
			}
		}
	}
	if err := json.Unmarshal(text, &rep); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, j := range rep.Jobs {
		for _, side := range []fioSide{j.Read.Latency, j.Write.Latency} {
			if side.N == 0 {
				continue
			}
			h := New()
			for k, n := range side.Bins {
				ns, err := strconv.ParseInt(k, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				for range n {
					h.Record(time.Duration(ns))
				}
			}
			for p, want := range side.Perc {
				percent, err := strconv.ParseFloat(p, 64)
				if err != nil {
					t.Fatal(err)
				}
				tried++
				if got := int64(h.Quantile(percent / 100)); math.Abs(float64(got-want)) > float64(want)/64 {
					t.Errorf("p%s: %d ns, fio says %d", p, got, want)
				}
			}
		}
	}
	if tried < 10 {
		t.Fatalf("only %d percentiles compared", tried)
	}
}

// Against the definition, on samples of every size.
func TestQuantile(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 300; n += 13 {
		h := New()
		var all []time.Duration
		for range n {
			d := time.Duration(math.Exp(g.Float64() * 23)) // 1 ns to 10 s
			all = append(all, d)
			h.Record(d)
		}
		slices.Sort(all)
		for _, q := range []float64{0.5, 0.95, 0.99, 0.999, 1} {
			i := int(math.Ceil(q*float64(n)-1e-9)) - 1
			want := all[i]
			if got := h.Quantile(q); math.Abs(float64(got-want)) > float64(want)/1000+1 {
				t.Errorf("%d samples, q %g: %d, want %d", n, q, got, want)
			}
		}
		if h.Max() != all[n-1] {
			t.Errorf("max %d, want %d", h.Max(), all[n-1])
		}
	}
	if h := New(); h.Quantile(0.5) != 0 || h.Max() != 0 || h.Mean() != 0 {
		t.Error("an empty histogram has a value")
	}
}

func TestJSON(t *testing.T) {
	a, b := New(), New()
	for i := range 1000 {
		a.Record(time.Duration(i) * time.Microsecond)
		b.Record(time.Duration(i) * time.Millisecond)
	}
	b.Record(3 * Longest) // counts, in percentiles as Longest
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var back Histogram
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.N() != b.N() || back.Max() != 3*Longest || back.Mean() != b.Mean() || back.Quantile(0.99) != b.Quantile(0.99) {
		t.Errorf("through JSON: %d, %s, %s", back.N(), back.Max(), back.Mean())
	}
	a.Add(&back)
	if a.N() != 2001 || a.Max() != 3*Longest {
		t.Errorf("sum: %d, %s", a.N(), a.Max())
	}
	for _, bad := range []string{`[]`, `{"bins_ns": [[-1, 2]]}`, `{"bins_ns": [[1, 0]]}`, `{"bins_ns": [[1, 9223372036854775807], [1, 1]]}`, `{"sum_ns": -1}`} {
		if err := json.Unmarshal([]byte(bad), New()); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

func FuzzHistogram(f *testing.F) {
	f.Add([]byte(`{"sum_ns": 5, "max_ns": 3, "bins_ns": [[1, 2], [3, 1]]}`))
	f.Add([]byte(`{"bins_ns": [[7200000000000, 1]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		h := New()
		if json.Unmarshal(text, h) == nil {
			h.Quantile(0.99)
			if _, err := json.Marshal(h); err != nil {
				t.Error(err)
			}
		}
	})
}

// The buckets of fio's tool by its documented properties: exact below 512, then
// eight bits, the middle of each bucket.
func TestPlat(t *testing.T) {
	for _, tt := range []struct{ value, mean uint64 }{
		{0, 0}, {1, 1}, {255, 255}, {256, 256}, {511, 511},
		{512, 513}, {513, 513}, {514, 515}, // two to a bucket
		{1023, 1023}, {1024, 1026}, {1027, 1026}, // four
		{10_000, 10_000 - 10_000%32 + 16}, // 2^13: 32
	} {
		var p Plat
		p.Record(tt.value)
		if got := p.Percentile(50); got != tt.mean {
			t.Errorf("%d is told as %d, want %d", tt.value, got, tt.mean)
		}
	}
	var p Plat
	for v := uint64(1); v <= 100; v++ {
		p.Record(v)
	}
	for percent, want := range map[float64]uint64{50: 50, 75: 75, 99: 99, 99.9: 100, 99.9999: 100} {
		if got := p.Percentile(percent); got != want {
			t.Errorf("p%g of 1 to 100 is %d, want %d", percent, got, want)
		}
	}
	p.Record(1 << 40)
	if p.Max != 1<<40 || p.Min != 1 || p.N() != 101 {
		t.Errorf("min %d, max %d, n %d", p.Min, p.Max, p.N())
	}
	if (&Plat{}).Percentile(50) != 0 {
		t.Error("an empty one has a value")
	}
}

func TestMerge(t *testing.T) {
	a := &Recorder{List: []Stall{{Op: "read", PID: 1, Start: 10, Length: 10}, {Op: "read", PID: 1, Start: 100, Length: 5}}}
	b := &Recorder{List: []Stall{{Op: "read", PID: 2, Start: 15, Length: 10}, {Op: "commit", PID: 3, Start: 20, Length: 80}}}
	var got [][3]int64
	for _, s := range Merge(a, b) {
		got = append(got, [3]int64{s.Start, s.Length, int64(s.Beside)})
	}
	// 10-20 meets 15-25; 15-25 also 20-100; 20-100 is over when 100-105 begins.
	want := [][3]int64{{10, 10, 1}, {15, 10, 2}, {20, 80, 1}, {100, 5, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRecorder(t *testing.T) {
	r := NewRecorder("read", time.Second)
	before := Now()
	r.Record(time.Second)
	r.Record(2 * time.Second)
	if len(r.List) != 1 || r.Times.N() != 2 {
		t.Fatalf("%+v", r)
	}
	s := r.List[0]
	if s.Length != int64(2*time.Second) || s.End() < int64(before) || s.End() > int64(Now()) {
		t.Errorf("%+v", s)
	}
	for range mostStalls {
		r.Record(2 * time.Second)
	}
	if len(r.List) != mostStalls || r.Lost != 1 {
		t.Errorf("%d kept, %d lost", len(r.List), r.Lost)
	}
}
