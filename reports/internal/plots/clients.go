package plots

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Clients shows a metric against how many clients there were: every sample as a
// dot, and a line through the means with their intervals. The axis of clients
// is logarithmic, as they are counted: 1, 2, 3, 10, 30, 100.
type Clients struct {
	Title string
	Axis  string // of the values, with the unit
	Arms  []string
	Count []int    // of clients, ascending
	Cells [][]Cell // by count, then by arm
}

// Draw gives the picture.
func (d Clients) Draw() (Picture, error) {
	height := headHeight(d.Title, d.Arms) + 230 + 2*margin
	return render(height, func(c draw.Canvas) {
		c = titled(c, d.Title, d.Arms, func(arm int) plot.Thumbnailer { return curveThumb(arm) })
		p := newPlot()
		p.X.Label.Text, p.Y.Label.Text = "clients", d.Axis
		p.X.Scale = plot.LogScale{}
		p.X.Tick.Marker = counts(d.Count)
		p.Add(clients(d))
		first, last := float64(d.Count[0]), float64(d.Count[len(d.Count)-1])
		p.X.Min, p.X.Max = first/1.2, last*1.2
		most := 0.0
		for _, cells := range d.Cells {
			for _, cell := range cells {
				if _, high := cell.extent(); !math.IsInf(high, 0) {
					most = max(most, high*1.05)
				}
			}
		}
		p.Y.Min, p.Y.Max = 0, upTo(most)
		p.Draw(c)
	})
}

// counts are ticks at numbers of clients.
type counts []int

// Ticks gives them.
func (n counts) Ticks(low, high float64) []plot.Tick {
	var out []plot.Tick
	for _, x := range n {
		out = append(out, plot.Tick{Value: float64(x), Label: strconv.Itoa(x)})
	}
	return out
}

// clients is the plotter of Clients.
type clients Clients

// Plot draws samples, means and intervals.
func (d clients) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if !t.IsMinor() {
			c.StrokeLine2(draw.LineStyle{Color: grey, Width: 0.5, Dashes: []vg.Length{1, 3}}, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
		}
	}
	for arm := range d.Arms {
		style := lookOf(arm)
		beside := vg.Length(7 * (float64(arm) - float64(len(d.Arms)-1)/2)) // so that arms do not hide each other
		var means []vg.Point
		for i, cells := range d.Cells {
			cell, at := cells[arm], x(float64(d.Count[i]))+beside
			for _, v := range cell.Values {
				c.DrawGlyph(style.glyph(), vg.Point{X: at, Y: y(v)})
			}
			if !math.IsNaN(cell.Mean) {
				means = append(means, vg.Point{X: at, Y: y(cell.Mean)})
			}
			if !math.IsNaN(cell.Low) {
				thin := draw.LineStyle{Color: style.shade, Width: 0.8}
				low, high := y(max(cell.Low, 0)), y(cell.High)
				c.StrokeLine2(thin, at, low, at, high)
				c.StrokeLine2(thin, at-2, low, at+2, low)
				c.StrokeLine2(thin, at-2, high, at+2, high)
			}
		}
		c.StrokeLines(style.line(1.2), slices.Clone(means))
	}
}

// curveThumb is an arm in the legend: a dot on its line.
type curveThumb int

// Thumbnail draws it.
func (t curveThumb) Thumbnail(c *draw.Canvas) {
	(&plotter.Line{LineStyle: lookOf(int(t)).line(1.2)}).Thumbnail(c)
	c.DrawGlyph(lookOf(int(t)).glyph(), vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: (c.Min.Y + c.Max.Y) / 2})
}
