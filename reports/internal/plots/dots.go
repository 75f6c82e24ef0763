package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Dots shows every sample of a metric: a row for each condition, and in it one
// for each arm, with the samples as dots and below them the mean with its
// interval.
type Dots struct {
	Title string
	Axis  string // of the values, with the unit
	Arms  []string
	Rows  []Row
}

// Row is one condition.
type Row struct {
	Label string
	Cells []Cell // by arm
}

// Cell is one arm under one condition.
type Cell struct {
	Values          []float64 // any number, in order of blocks
	Mean, Low, High float64   // NaN where there are too few values
	Note            string    // what broke, if anything
}

// Draw gives the picture.
func (d Dots) Draw() (Picture, error) {
	lanes := max(1, len(d.Arms))
	lane := vg.Length(20)
	if lanes == 1 {
		lane = 26
	}
	height := headHeight(d.Title, d.Arms) + vg.Length(len(d.Rows))*(vg.Length(lanes)*lane+6) + 50 + 2*margin
	return render(height, func(c draw.Canvas) {
		c = titled(c, d.Title, d.Arms, func(arm int) plot.Thumbnailer { return dotThumb(arm) })
		p := newPlot()
		p.X.Label.Text = d.Axis
		var labels []string
		for i := range d.Rows { // the first is on top
			labels = append(labels, cut(d.Rows[len(d.Rows)-1-i].Label, 40))
		}
		p.NominalY(labels...)
		// Room for the first and the last row, and beside the outermost dots.
		p.Y.Min, p.Y.Max = -0.5, float64(len(d.Rows))-0.5
		p.X.Min, p.X.Max = d.limits()
		p.Add(dots(d))
		p.Draw(c)
	})
}

// extent gives the range of all that is drawn of a cell.
func (c Cell) extent() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range append([]float64{c.Mean, c.Low, c.High}, c.Values...) {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}

// limits gives the range of the axis. It need not begin at zero: dots show
// positions, not lengths.
func (d Dots) limits() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, r := range d.Rows {
		for _, c := range r.Cells {
			l, h := c.extent()
			low, high = min(low, l), max(high, h)
		}
	}
	switch {
	case low > high:
		return 0, 1
	case low == high:
		pad := max(math.Abs(low)*0.1, 0.5)
		return low - pad, high + pad
	}
	pad := (high - low) * 0.04
	if low >= 0 && low-pad < 0 {
		return 0, high + pad
	}
	return low - pad, high + pad
}

// dots is the plotter of Dots.
type dots Dots

// Plot draws rows, samples and intervals.
func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i := range len(d.Rows) + 1 {
		at := y(float64(i) - 0.5)
		c.StrokeLine2(draw.LineStyle{Color: grey, Width: 0.5}, c.Min.X, at, c.Max.X, at)
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !t.IsMinor() {
			at := x(t.Value)
			c.StrokeLine2(draw.LineStyle{Color: grey, Width: 0.5, Dashes: []vg.Length{1, 3}}, at, c.Min.Y, at, c.Max.Y)
		}
	}
	note := p.X.Tick.Label
	note.YAlign = draw.YCenter
	for i, r := range d.Rows {
		for arm, cell := range r.Cells {
			lanes := float64(len(d.Arms))
			middle := y(float64(len(d.Rows)-1-i) + 0.42 - 0.84*(float64(arm)+0.5)/lanes)
			style := lookOf(arm)
			for _, v := range cell.Values {
				c.DrawGlyph(style.glyph(), vg.Point{X: x(v), Y: middle + 3.5})
			}
			if !math.IsNaN(cell.Low) {
				interval(&c, style.shade, middle-4.5, x(cell.Low), x(cell.Mean), x(cell.High))
			}
			if cell.Note != "" {
				at := vg.Point{X: c.Max.X - 3, Y: middle}
				note.XAlign = draw.XRight
				if low, high := cell.extent(); p.X.Max-high < low-p.X.Min { // more room at the left
					at.X, note.XAlign = c.Min.X+3, draw.XLeft
				}
				c.FillText(note, at, cut(cell.Note, 40))
			}
		}
	}
}

// interval draws a mean as a bar across the line of its interval.
func interval(c *draw.Canvas, shade color.Color, y, low, mean, high vg.Length) {
	thin, thick := draw.LineStyle{Color: shade, Width: 0.8}, draw.LineStyle{Color: shade, Width: 2}
	c.StrokeLine2(thin, low, y, high, y)
	c.StrokeLine2(thin, low, y-2, low, y+2)
	c.StrokeLine2(thin, high, y-2, high, y+2)
	c.StrokeLine2(thick, mean, y-3, mean, y+3)
}

// dotThumb is an arm in the legend: a dot over an interval.
type dotThumb int

// Thumbnail draws it.
func (t dotThumb) Thumbnail(c *draw.Canvas) {
	style := lookOf(int(t))
	mid := (c.Min.X + c.Max.X) / 2
	y := (c.Min.Y + c.Max.Y) / 2
	c.DrawGlyph(style.glyph(), vg.Point{X: c.Min.X + 5, Y: y})
	interval(c, style.shade, y, mid, (mid+c.Max.X)/2, c.Max.X)
}
