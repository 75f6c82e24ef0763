package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Lines shows counters over time in panels one above the other. All samples
// of an arm have the same line.
type Lines struct {
	Title  string
	Arms   []string
	Panels []Panel
}

// Panel is one quantity over the time since the samplers started.
type Panel struct {
	Axis   string // with the unit
	Series []Series
}

// Series is one sample. X is in seconds and increases. Where Y is NaN there is
// nothing to show, and the line is broken.
type Series struct {
	Arm  int
	X, Y []float64
}

// Draw gives the picture.
func (l Lines) Draw() (Picture, error) {
	const panel = 150
	height := headHeight(l.Title, l.Arms) + vg.Length(len(l.Panels))*panel + 20 + 2*margin
	return render(height, func(c draw.Canvas) {
		c = titled(c, l.Title, l.Arms, func(arm int) plot.Thumbnailer {
			return &plotter.Line{LineStyle: lookOf(arm).line(1.2)}
		})
		var plots [][]*plot.Plot
		last := l.last()
		for i, x := range l.Panels {
			p := newPlot()
			p.Y.Label.Text = x.Axis
			if i == len(l.Panels)-1 {
				p.X.Label.Text = "seconds"
			}
			p.Add(plotter.NewGrid())
			for _, s := range x.Series {
				for _, part := range s.parts() {
					p.Add(part.plotter())
				}
			}
			p.X.Min, p.X.Max = 0, last
			p.Y.Min, p.Y.Max = 0, upTo(p.Y.Max*1.05)
			plots = append(plots, []*plot.Plot{p})
		}
		tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadY: 6}
		for i, row := range plot.Align(plots, tiles, c) {
			plots[i][0].Draw(row[0])
		}
	})
}

// last gives the end of the time axis.
func (l Lines) last() float64 {
	var most float64
	for _, p := range l.Panels {
		for _, s := range p.Series {
			for _, x := range s.X {
				most = max(most, x)
			}
		}
	}
	if most == 0 { // no data
		return 1
	}
	return most
}

// parts are the stretches of a series without NaN.
func (s Series) parts() []Series {
	var out []Series
	open := false
	for i := range min(len(s.X), len(s.Y)) {
		if math.IsNaN(s.Y[i]) {
			open = false
			continue
		}
		if !open {
			out, open = append(out, Series{Arm: s.Arm}), true
		}
		last := &out[len(out)-1]
		last.X, last.Y = append(last.X, s.X[i]), append(last.Y, s.Y[i])
	}
	return out
}

// plotter draws a stretch: as a line, or where it is one point as a dot, which
// no line would show.
func (s Series) plotter() plot.Plotter {
	if len(s.X) > 1 {
		return &plotter.Line{XYs: points(s), LineStyle: lookOf(s.Arm).line(1)}
	}
	dot := lookOf(s.Arm).glyph()
	dot.Radius = 1.5
	return &plotter.Scatter{XYs: points(s), GlyphStyle: dot}
}

// most is how many points a line may have: more cannot be seen at this size.
const most = 1000

// points thins a series out by taking means of neighbours.
func points(s Series) plotter.XYs {
	n := min(len(s.X), len(s.Y))
	group := int(math.Ceil(float64(n) / most))
	var out plotter.XYs
	for from := 0; from < n; from += group {
		to := min(n, from+group)
		var x, y float64
		for i := from; i < to; i++ {
			x += s.X[i] / float64(to-from)
			y += s.Y[i] / float64(to-from)
		}
		out = append(out, plotter.XY{X: x, Y: y})
	}
	return out
}
