package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// History shows a metric over the commits of a history, oldest first, and below
// it how probable it is that each is the one that changed it.
type History struct {
	Title  string
	Axis   string // of the metric, with the unit
	Points []Commit
}

// Commit is one commit of a History, at its place.
type Commit struct {
	Values    []float64 // samples
	Mean      float64   // NaN without samples
	Low, High float64   // 95 % interval; NaN for none
	Skipped   bool      // could not be measured
	Culprit   float64   // probability
}

// Draw gives the picture.
func (h History) Draw() (Picture, error) {
	const upper, lower = 230, 110
	kinds := []string{"samples; bars: mean with 95 % interval", "cannot be measured"}
	looks := []look{lookOf(0), lookOf(3)}
	height := headHeight(h.Title, kinds) + upper + lower + 20 + 2*margin
	return render(vg.Length(height), func(c draw.Canvas) {
		c = titled(c, h.Title, kinds, func(i int) plot.Thumbnailer {
			return &plotter.Scatter{GlyphStyle: looks[i].glyph()}
		})
		metric, chance := newPlot(), newPlot()
		metric.Y.Label.Text, chance.Y.Label.Text = h.Axis, "probability"
		chance.X.Label.Text = "commits, oldest first"
		h.drawMetric(metric)
		h.drawChance(chance)
		last := math.Max(1, float64(len(h.Points)-1))
		for _, p := range []*plot.Plot{metric, chance} {
			p.X.Min, p.X.Max = -0.02*last, 1.02*last
		}
		top, bottom := c, c
		split := c.Min.Y + (c.Max.Y-c.Min.Y)*lower/(upper+lower)
		top.Min.Y, bottom.Max.Y = split+4, split-4
		// The axes of both begin at one line.
		plots := [][]*plot.Plot{{metric}, {chance}}
		aligned := plot.Align(plots, draw.Tiles{Rows: 2, Cols: 1}, c)
		for i, x := range []*draw.Canvas{&top, &bottom} {
			x.Min.X, x.Max.X = aligned[i][0].Min.X, aligned[i][0].Max.X
			plots[i][0].Draw(*x)
		}
	})
}

func (h History) drawMetric(p *plot.Plot) {
	p.Add(plotter.NewGrid())
	var dots plotter.XYs
	low, high := math.Inf(1), math.Inf(-1)
	for i, c := range h.Points {
		for _, v := range c.Values {
			dots = append(dots, plotter.XY{X: float64(i), Y: v})
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	if len(dots) == 0 {
		low, high = 0, 1
	}
	room := math.Max((high-low)*0.12, high*1e-3)
	low, high = low-room, high+room
	for i, c := range h.Points {
		x := float64(i)
		if c.Skipped {
			p.Add(&plotter.Scatter{XYs: plotter.XYs{{X: x, Y: low + room/3}}, GlyphStyle: lookOf(3).glyph()})
		}
		if math.IsNaN(c.Mean) {
			continue
		}
		if !math.IsNaN(c.Low) && !math.IsNaN(c.High) {
			bar := plotter.XYs{{X: x, Y: math.Max(c.Low, low)}, {X: x, Y: math.Min(c.High, high)}}
			p.Add(&plotter.Line{XYs: bar, LineStyle: lookOf(2).line(1.2)})
		}
	}
	if len(dots) > 0 {
		p.Add(&plotter.Scatter{XYs: dots, GlyphStyle: lookOf(0).glyph()})
	}
	p.Y.Min, p.Y.Max = low, high
}

func (h History) drawChance(p *plot.Plot) {
	p.Add(plotter.NewGrid())
	for i, c := range h.Points {
		if c.Culprit < 0.001 {
			continue
		}
		bar := plotter.XYs{{X: float64(i), Y: 0}, {X: float64(i), Y: c.Culprit}}
		p.Add(&plotter.Line{XYs: bar, LineStyle: draw.LineStyle{Color: lookOf(1).shade, Width: 2.5}})
	}
	p.Y.Min, p.Y.Max = 0, 1
}
