package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Stack shows one sample of each arm over its time as iostat would print it,
// one quantity above the other, and within a quantity the arms above each
// other on the same scales: so what differs between arms differs by eye.
type Stack struct {
	Title  string
	Tracks []Track
}

// Track is one quantity of one arm.
type Track struct {
	Axis   string // the quantity with its unit
	Arm    string
	Curves []Curve
	Shades []Span // stalls
}

// Curve is one line of a track. The first of a track is solid, the others are
// dashed. A Curve whose X has one value more than Y holds means over the
// intervals between the Xs and is drawn in steps.
type Curve struct {
	Name string
	X, Y []float64
}

// Span is a stretch of time in seconds.
type Span struct{ From, To float64 }

const (
	trackHeight   = 76
	captionHeight = 12 // of it, above the curves
)

// Draw gives the picture.
func (s Stack) Draw() (Picture, error) {
	height := titleHeight(s.Title) + vg.Length(len(s.Tracks))*trackHeight + 34 + 2*margin
	return render(height, func(c draw.Canvas) {
		c = titled(c, s.Title, nil, nil)
		last, tops := s.extent()
		var rows [][]*plot.Plot
		for i, t := range s.Tracks {
			p := newPlot()
			p.Y.Label.Text = t.Axis
			p.Y.Label.TextStyle.Font.Size = 8
			p.Y.Tick.Marker = ticks(3)
			p.X.Tick.Marker = ticks(8)
			if i == len(s.Tracks)-1 {
				p.X.Label.Text = "seconds since the workload began"
			} else {
				p.X.Tick.Marker = bare{ticks(8)}
				p.X.Tick.Length = 2
			}
			p.Add(plotter.NewGrid(), shades(t.Shades))
			for j, k := range t.Curves {
				l := &plotter.Line{XYs: k.points(), LineStyle: draw.LineStyle{Color: color.Black, Width: 1}}
				if j > 0 {
					l.Color = color.RGBA{R: 0xd5, G: 0x5e, A: 0xff}
					l.Dashes = lookOf(j).dash
				}
				p.Add(l)
			}
			p.X.Min, p.X.Max = 0, last
			p.Y.Min, p.Y.Max = 0, upTo(tops[t.Axis]*1.05)
			rows = append(rows, []*plot.Plot{p})
		}
		tiles := draw.Tiles{Rows: len(rows), Cols: 1, PadY: 2}
		for i, row := range plot.Align(rows, tiles, c) {
			below := row[0]
			below.Max.Y -= captionHeight
			rows[i][0].Draw(below)
			data := rows[i][0].DataCanvas(below)
			caption{s.Tracks[i]}.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: data.Min.X, Y: row[0].Max.Y - captionHeight}, Max: vg.Point{X: data.Max.X, Y: row[0].Max.Y},
			}})
		}
	})
}

// extent gives the end of time and the largest value of each quantity.
func (s Stack) extent() (last float64, tops map[string]float64) {
	tops = map[string]float64{}
	for _, t := range s.Tracks {
		for _, k := range t.Curves {
			for _, x := range k.X {
				last = max(last, x)
			}
			for _, y := range k.Y {
				tops[t.Axis] = max(tops[t.Axis], y)
			}
		}
	}
	return max(last, 1e-3), tops
}

// points gives the line, thinned where it has more than can be seen.
func (k Curve) points() plotter.XYs {
	if len(k.X) != len(k.Y)+1 {
		return points(Series{X: k.X, Y: k.Y})
	}
	group := int(math.Ceil(float64(len(k.Y)) / (most / 2)))
	var out plotter.XYs
	for from := 0; from < len(k.Y); from += group {
		to := min(len(k.Y), from+group)
		var sum float64 // weighed by time
		for i := from; i < to; i++ {
			sum += k.Y[i] * (k.X[i+1] - k.X[i])
		}
		y := sum / (k.X[to] - k.X[from])
		out = append(out, plotter.XY{X: k.X[from], Y: y}, plotter.XY{X: k.X[to], Y: y})
	}
	return out
}

// bare are ticks without numbers.
type bare struct{ plot.Ticker }

// Ticks gives them.
func (b bare) Ticks(low, high float64) []plot.Tick {
	var out []plot.Tick
	for _, t := range b.Ticker.Ticks(low, high) {
		if t.Label != "" {
			out = append(out, plot.Tick{Value: t.Value, Label: " "})
		}
	}
	return out
}

// shades are grey behind the lines.
type shades []Span

// Plot draws them.
func (s shades) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, r := range s {
		from, to := x(r.From), x(r.To)
		c.FillPolygon(color.Gray{Y: 0xd8}, []vg.Point{{X: from, Y: c.Min.Y}, {X: to, Y: c.Min.Y}, {X: to, Y: c.Max.Y}, {X: from, Y: c.Max.Y}})
	}
}

// caption names the arm and the lines of a track. It stands above the curves,
// where it hides none.
type caption struct{ Track }

func (k caption) draw(c draw.Canvas) {
	style := newPlot().X.Tick.Label
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	top := c.Max.Y - 1
	name := cut(k.Arm, 44)
	c.FillText(style, vg.Point{X: c.Min.X, Y: top}, name)
	at := c.Max.X
	for j := len(k.Curves) - 1; j >= 0; j-- {
		name := k.Curves[j].Name
		if name == "" {
			continue
		}
		style.XAlign = draw.XRight
		c.FillText(style, vg.Point{X: at, Y: top}, name)
		at -= style.Width(name) + 3
		line := draw.LineStyle{Color: color.Black, Width: 1}
		if j > 0 {
			line.Color, line.Dashes = color.RGBA{R: 0xd5, G: 0x5e, A: 0xff}, lookOf(j).dash
		}
		c.StrokeLine2(line, at-18, top-5, at, top-5)
		at -= 30
	}
}
