package plots

import (
	"bytes"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		low, high float64
		want      string
	}{
		{0, 7, "0 1 2 3 4 5 6 7"},
		{85.5, 117, "90 95 100 105 110 115"},
		{-0.3, 0.32, "-0.3 -0.2 -0.1 0.0 0.1 0.2 0.3"},
		{0, 3000000, "0 500000 1000000 1500000 2000000 2500000 3000000"},
		{5, 5, "5"},
	} {
		var got []string
		for _, x := range ticks(7).Ticks(tt.low, tt.high) {
			got = append(got, x.Label)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("ticks from %v to %v: %s, want %s", tt.low, tt.high, s, tt.want)
		}
	}
}

func TestFold(t *testing.T) {
	for in, want := range map[string][]string{
		"":                 {""},
		"one two three":    {"one two", "three"},
		"abcdefghijklmnop": {"abcdefgh.."},
	} {
		if d := cmp.Diff(want, fold(in, 10)); d != "" {
			t.Errorf("fold(%q):\n%s", in, d)
		}
	}
}

// Values at the edge of what can be drawn make a picture, and the same one
// each time.
func TestDraw(t *testing.T) {
	nan := math.NaN()
	full := Cell{Values: []float64{1, 2, 3}, Mean: 2, Low: 1, High: 3}
	for name, draw := range map[string]func() (Picture, error){
		"dots":    Dots{Title: "t", Axis: "a", Arms: []string{"x", "y"}, Rows: []Row{{"one", []Cell{full, full}}, {"two", []Cell{full, {Mean: nan, Low: nan, High: nan, Note: "hung"}}}}}.Draw,
		"one dot": Dots{Title: "t", Axis: "a", Arms: []string{"x"}, Rows: []Row{{"one", []Cell{{Values: []float64{5}, Mean: 5, Low: nan, High: nan}}}}}.Draw,
		"no dot":  Dots{Title: "t", Axis: "a", Arms: []string{"x"}, Rows: []Row{{"one", []Cell{{Mean: nan, Low: nan, High: nan}}}}}.Draw,
		"zeros":   Dots{Title: "t", Axis: "a", Arms: []string{"x"}, Rows: []Row{{"one", []Cell{{Values: []float64{0, 0}, Mean: 0, Low: 0, High: 0}}}}}.Draw,
		"huge":    Dots{Title: strings.Repeat("long ", 100), Axis: "a", Arms: []string{strings.Repeat("x", 300)}, Rows: []Row{{strings.Repeat("y", 300), []Cell{{Values: []float64{-1e300, 1e300}, Mean: 0, Low: -1e300, High: 1e300}}}}}.Draw,
		"7 arms":  Dots{Title: "t", Axis: "a", Arms: slices.Repeat([]string{"x"}, 7), Rows: []Row{{"one", slices.Repeat([]Cell{full}, 7)}}}.Draw,
		"lines":   Lines{Title: "t", Arms: []string{"x"}, Panels: []Panel{{"MB/s", []Series{{0, []float64{0, 1, 2}, []float64{0, 5, 1}}}}, {"MiB", []Series{{0, []float64{0, 9}, []float64{0, 0}}}}}}.Draw,
		"gaps":    Lines{Title: "t", Arms: []string{"x"}, Panels: []Panel{{"ms", []Series{{0, []float64{0, 1, 2, 3}, []float64{nan, 5, nan, nan}}}}}}.Draw,
		"stack":   Stack{Title: "t", Tracks: []Track{{"MB/s", "x", []Curve{{"written", []float64{0, 1, 2}, []float64{5, 1}}, {"read", []float64{0, 1}, []float64{0, 3}}}, []Span{{0.5, 1}}}, {"ms", "y", nil, nil}}}.Draw,
		"tail":    Tail{Title: "t", Axis: "a", What: "fsyncs", Arms: []string{"x", "y"}, Boots: []Boot{{Arm: 0, Latencies: []float64{0.001, 0.002, 5}}, {Arm: 1, Latencies: []float64{0, 1e-9}}, {Arm: 1}}}.Draw,
		"counted": Tail{Title: "t", Axis: "a", What: "reads", Arms: []string{"x"}, Boots: []Boot{{Latencies: []float64{0.002, 0.001}, Counts: []int64{1, 999}}}}.Draw,
		"clients": Clients{Title: "t", Axis: "MB/s", Arms: []string{"x", "y"}, Count: []int{1, 10, 100}, Cells: [][]Cell{{full, full}, {full, {Mean: nan, Low: nan, High: nan}}, {full, full}}}.Draw,
		"no rate": Clients{Title: "t", Axis: "a", Arms: []string{"x"}, Count: []int{1, 2}, Cells: [][]Cell{{{Mean: nan, Low: nan, High: nan}}, {{Mean: 0, Low: nan, High: nan}}}}.Draw,
		"no tail": Tail{Title: "t", Axis: "a", What: "fsyncs", Arms: []string{"x"}}.Draw,
		"no line": Lines{Title: "t", Arms: []string{"x"}, Panels: []Panel{{"MB/s", nil}}}.Draw,
	} {
		t.Run(name, func(t *testing.T) {
			a, err := draw()
			if err != nil {
				t.Fatal(err)
			}
			b, err := draw()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.SVG, b.SVG) || !bytes.Equal(a.PNG, b.PNG) {
				t.Error("the second picture differs")
			}
			if _, err := png.Decode(bytes.NewReader(a.PNG)); err != nil {
				t.Error(err)
			}
			if bytes.Contains(a.SVG, []byte("NaN")) || bytes.Contains(a.SVG, []byte("Inf")) {
				t.Error("SVG has a number that is none")
			}
		})
	}
}

func TestPoints(t *testing.T) {
	var s Series
	for i := range 2500 {
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, 7)
	}
	got := points(s)
	// Groups of three: 0, 1, 2 have the mean 1; the last has 2499 alone.
	if len(got) != 834 || got[0].X != 1 || got[0].Y != 7 || got[833].X != 2499 {
		t.Errorf("%d points, the first %v, the last %v", len(got), got[0], got[len(got)-1])
	}
}

// One request of a hundred took longer than 1 s, and ten longer than 0.1 s.
func TestTailSteps(t *testing.T) {
	var b Boot
	for i := range 100 {
		v := 0.01
		switch {
		case i == 0:
			v = 2
		case i < 10:
			v = 0.5
		}
		b.Latencies = append(b.Latencies, v)
	}
	above := func(x float64) float64 {
		y := 1.0
		for _, p := range b.steps(0.001) {
			if p.X <= x {
				y = p.Y
			}
		}
		return y
	}
	for x, want := range map[float64]float64{0.005: 1, 0.1: 0.1, 1: 0.01} {
		if got := above(x); math.Abs(got-want) > 1e-9 {
			t.Errorf("share above %v is %v, want %v", x, got, want)
		}
	}
}

// A line is broken where there is nothing to show, and the axis ends with the
// data.
func TestLinesParts(t *testing.T) {
	nan := math.NaN()
	s := Series{Arm: 1, X: []float64{0.1, 0.2, 0.3, 0.4, 0.5}, Y: []float64{nan, 3, 4, nan, 5}}
	want := []Series{{1, []float64{0.2, 0.3}, []float64{3, 4}}, {1, []float64{0.5}, []float64{5}}}
	if d := cmp.Diff(want, s.parts()); d != "" {
		t.Errorf("parts (-want +got):\n%s", d)
	}
	for want, l := range map[float64]Lines{0.5: {Panels: []Panel{{"ms", []Series{s}}}}, 1: {}} {
		if got := l.last(); got != want {
			t.Errorf("the axis ends at %v, want %v", got, want)
		}
	}
}

// Labels below a picture do not run into each other.
func TestCourseNames(t *testing.T) {
	for label, want := range map[string]int{"12": 10, "10:02": 10, "2026-12-01": 10, "12-01 10:02": 7} {
		n := 0
		for _, l := range (Course{Labels: slices.Repeat([]string{label}, 20)}).names() {
			if l == label {
				n++
			}
		}
		if n != want {
			t.Errorf("%d of 20 labels %q, want %d", n, label, want)
		}
	}
}
