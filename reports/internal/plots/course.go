package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Course shows one number over a sequence of runs: each run's mean with its
// interval, and the level between changes as a line.
type Course struct {
	Title  string
	Axis   string   // with the unit
	Labels []string // of the runs
	Below  string   // what the labels are, if they do not say
	Runs   []Cell   // Values are not drawn; NaN where a run has none
	Levels []Level
}

// Level is where values stayed the same: runs From to To, without To.
type Level struct {
	From, To int
	Mean     float64
	Note     string // what changed at From, "" at the first
}

// Draw gives the picture.
func (c Course) Draw() (Picture, error) {
	height := headHeight(c.Title, nil) + 220 + 2*margin
	return render(height, func(to draw.Canvas) {
		to = titled(to, c.Title, nil, nil)
		p := newPlot()
		p.Y.Label.Text = c.Axis
		p.X.Label.Text = c.Below
		p.NominalX(c.names()...)
		p.X.Min, p.X.Max = -0.5, float64(len(c.Runs))-0.5
		p.Y.Min, p.Y.Max = c.limits()
		p.Add(course(c))
		p.Draw(to)
	})
}

// names are the labels below the axis: all of a few runs, else some.
func (c Course) names() []string {
	room := 100 // characters
	for _, l := range c.Labels {
		room = min(room, 100/max(1, min(len(l), 12)))
	}
	room = max(1, min(room, 10))
	step := (len(c.Labels) + room - 1) / room
	out := make([]string, len(c.Labels))
	for i, l := range c.Labels {
		if i%max(step, 1) == 0 {
			out[i] = cut(l, 12)
		}
	}
	return out
}

// limits gives the range of the values' axis.
func (c Course) limits() (low, high float64) {
	d := Dots{Rows: []Row{{Cells: c.Runs}}}
	return d.limits()
}

type course Course

// Plot draws levels, changes and runs.
func (c course) Plot(to draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&to)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if !t.IsMinor() {
			to.StrokeLine2(draw.LineStyle{Color: grey, Width: 0.5, Dashes: []vg.Length{1, 3}}, to.Min.X, y(t.Value), to.Max.X, y(t.Value))
		}
	}
	note := p.X.Tick.Label
	note.YAlign, note.XAlign = draw.YTop, draw.XLeft
	mark := lookOf(1)
	for i, l := range c.Levels {
		to.StrokeLine2(draw.LineStyle{Color: mark.shade, Width: 1.2}, x(float64(l.From)-0.5), y(l.Mean), x(float64(l.To)-0.5), y(l.Mean))
		if i > 0 {
			at := x(float64(l.From) - 0.5)
			to.StrokeLine2(mark.line(0.8), at, to.Min.Y, at, to.Max.Y)
			to.FillText(note, vg.Point{X: at + 3, Y: to.Max.Y - 2}, cut(l.Note, 24))
		}
	}
	run := lookOf(0)
	for i, r := range c.Runs {
		if math.IsNaN(r.Mean) {
			continue
		}
		at := x(float64(i))
		if !math.IsNaN(r.Low) {
			to.StrokeLine2(run.line(0.8), at, y(r.Low), at, y(r.High))
		}
		to.DrawGlyph(run.glyph(), vg.Point{X: at, Y: y(r.Mean)})
	}
}
