package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Tail shows how latencies are distributed: for each latency the share of
// requests that took longer, one minus the empirical distribution function,
// with both axes logarithmic, so that the slowest request of a thousand is as
// visible as the median. Each sample is a line of its own.
type Tail struct {
	Title string
	Axis  string // of the latencies, with "s" for seconds
	What  string // of requests: "fsyncs"
	Arms  []string
	Boots []Boot
}

// Boot is the latencies of one sample, in seconds.
type Boot struct {
	Arm       int
	Latencies []float64
	Counts    []int64 // how often there was each; nil for once
}

// n is how many latencies there are.
func (b Boot) n() (n int64) {
	if b.Counts == nil {
		return int64(len(b.Latencies))
	}
	for _, c := range b.Counts {
		n += c
	}
	return n
}

// Draw gives the picture.
func (t Tail) Draw() (Picture, error) {
	height := headHeight(t.Title, t.Arms) + 250 + 2*margin
	return render(height, func(c draw.Canvas) {
		c = titled(c, t.Title, t.Arms, func(arm int) plot.Thumbnailer {
			return &plotter.Line{LineStyle: lookOf(arm).line(1.2)}
		})
		p := newPlot()
		p.X.Label.Text, p.Y.Label.Text = t.Axis, t.What+" slower"
		p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
		p.X.Tick.Marker, p.Y.Tick.Marker = decades(latency), decades(percent)
		low, high, least := t.extent()
		for _, at := range decadesIn(low, high) {
			p.Add(rule{at, true})
		}
		for _, at := range decadesIn(least, 1) {
			p.Add(rule{at, false})
		}
		for _, b := range t.Boots {
			p.Add(&plotter.Line{XYs: b.steps(low), LineStyle: lookOf(b.Arm).line(1)})
		}
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low, high, least, 1
		p.Draw(c)
	})
}

// extent gives whole decades around what there is to show.
func (t Tail) extent() (low, high, least float64) {
	low, high, least = math.Inf(1), 0, 1
	for _, b := range t.Boots {
		for _, v := range b.Latencies {
			if v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
		if n := b.n(); n > 0 {
			least = min(least, 1/float64(n))
		}
	}
	if high == 0 {
		return 1e-3, 1, 0.1
	}
	down := func(v float64) float64 { return math.Pow(10, math.Floor(math.Log10(v))) }
	low, least = down(low), down(least*0.999)
	return low, max(math.Pow(10, math.Ceil(math.Log10(high))), low*10), min(least, 0.1)
}

// steps gives the share above each latency, thinned to what can be seen.
func (b Boot) steps(low float64) plotter.XYs {
	order := make([]int, len(b.Latencies))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(b.Latencies[i], b.Latencies[j]) })
	n, left := b.n(), b.n()
	out := plotter.XYs{{X: low, Y: 1}}
	last := out[0]
	for k, i := range order {
		v := b.Latencies[i]
		left--
		if b.Counts != nil {
			left -= b.Counts[i] - 1
		}
		x, y := max(v, low), float64(left)/float64(n)
		if k == len(order)-1 { // none took longer, which a logarithm cannot show
			return append(out, plotter.XY{X: x, Y: last.Y})
		}
		// Less than a fiftieth is too small to be seen; equal latencies are one step.
		if b.Latencies[order[k+1]] == v || x/last.X < 1.02 && last.Y/y < 1.02 {
			continue
		}
		out = append(out, plotter.XY{X: x, Y: last.Y}, plotter.XY{X: x, Y: y})
		last = plotter.XY{X: x, Y: y}
	}
	return out
}

// decades are ticks at powers of ten, with their names.
type decades func(float64) string

// Ticks gives them.
func (d decades) Ticks(low, high float64) []plot.Tick {
	var out []plot.Tick
	for _, at := range decadesIn(low, high) {
		out = append(out, plot.Tick{Value: at, Label: d(at)})
	}
	return out
}

func decadesIn(low, high float64) []float64 {
	var out []float64
	for e := math.Ceil(math.Log10(low) - 1e-9); e <= math.Log10(high)+1e-9; e++ {
		out = append(out, math.Pow(10, e))
	}
	return out
}

func latency(v float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if v >= u.size*0.999 {
			return fmt.Sprintf("%.0f %s", v/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0g s", v)
}

func percent(v float64) string { return strconv.FormatFloat(100*v, 'g', 3, 64) + " %" }

// rule is a grey line across at a value of one axis.
type rule struct {
	at      float64
	upright bool
}

// Plot draws it.
func (r rule) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: grey, Width: vg.Length(0.5)}
	if r.upright {
		c.StrokeLine2(style, x(r.at), c.Min.Y, x(r.at), c.Max.Y)
		return
	}
	c.StrokeLine2(style, c.Min.X, y(r.at), c.Max.X, y(r.at))
}
