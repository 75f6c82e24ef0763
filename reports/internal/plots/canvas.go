package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Picture is a plot in both formats.
type Picture struct {
	SVG, PNG []byte
}

const (
	width  = 7 * vg.Inch
	margin = 8 * vg.Inch / 72
	dpi    = 144
)

// look is how an arm is drawn everywhere.
type look struct {
	shade color.Color
	shape draw.GlyphDrawer
	dash  []vg.Length
}

// looks go from dark to light, in the colours of Okabe and Ito, which people
// with any colour vision can tell apart. Shapes are hollow, so that dots that
// meet can still be counted. The sixth arm begins anew.
var looks = [...]look{
	{color.Black, draw.RingGlyph{}, nil},
	{color.RGBA{R: 0xd5, G: 0x5e, A: 0xff}, draw.SquareGlyph{}, []vg.Length{5, 2}},
	{color.RGBA{G: 0x72, B: 0xb2, A: 0xff}, draw.TriangleGlyph{}, []vg.Length{1.5, 1.5}},
	{color.RGBA{G: 0x9e, B: 0x73, A: 0xff}, draw.CrossGlyph{}, []vg.Length{7, 2, 1.5, 2}},
	{color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, draw.PlusGlyph{}, []vg.Length{3, 3}},
}

func lookOf(arm int) look { return looks[arm%len(looks)] }

func (l look) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.shade, Radius: 3, Shape: l.shape}
}

func (l look) line(width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: l.shade, Width: width, Dashes: l.dash}
}

// grey is for what helps the eye and is no data.
var grey = color.Gray{Y: 0xc0}

// newPlot gives an empty plot in our fonts.
func newPlot() *plot.Plot {
	p := plot.New()
	for _, f := range []*vg.Length{&p.X.Tick.Label.Font.Size, &p.Y.Tick.Label.Font.Size} {
		*f = 9
	}
	p.X.Label.TextStyle.Font.Size, p.Y.Label.TextStyle.Font.Size = 10, 10
	p.X.Label.Padding, p.Y.Label.Padding = 3, 3
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(7), ticks(4)
	p.Title.TextStyle.Font.Size = 11
	p.Title.Padding = 6
	p.Legend.TextStyle.Font.Size = 10
	p.X.Tick.Label.Font.Variant, p.Y.Tick.Label.Font.Variant = "Sans", "Sans"
	p.X.Label.TextStyle.Font.Variant, p.Y.Label.TextStyle.Font.Variant = "Sans", "Sans"
	p.Title.TextStyle.Font.Variant, p.Legend.TextStyle.Font.Variant = "Sans", "Sans"
	return p
}

// render draws into both formats.
func render(height vg.Length, drawing func(draw.Canvas)) (Picture, error) {
	var pic Picture
	svg := vgsvg.New(width, height)
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))}
	for _, x := range []struct {
		canvas vg.CanvasWriterTo
		to     *[]byte
	}{{svg, &pic.SVG}, {png, &pic.PNG}} {
		c := draw.New(x.canvas)
		c.SetColor(color.White)
		c.Fill(c.Rectangle.Path())
		drawing(draw.Crop(c, margin, -margin, margin, -margin))
		var b bytes.Buffer
		if _, err := x.canvas.WriteTo(&b); err != nil {
			return Picture{}, fmt.Errorf("draw plot: %w", err)
		}
		*x.to = b.Bytes()
	}
	// Where the font is missing, one of the same widths or at least shape.
	pic.SVG = bytes.ReplaceAll(pic.SVG, []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	return pic, nil
}

// titled draws the title and the legend over a plot's space and gives what is
// left of it.
func titled(c draw.Canvas, title string, arms []string, thumb func(arm int) plot.Thumbnailer) draw.Canvas {
	p := newPlot()
	style := p.Title.TextStyle
	style.Handler = plot.DefaultTextHandler
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	for _, line := range fold(title, 84) {
		c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y}, line)
		c.Max.Y -= style.FontExtents().Height * 1.15
	}
	c.Max.Y -= 4
	legend := plot.NewLegend()
	legend.TextStyle.Font = p.Legend.TextStyle.Font
	legend.Top, legend.Left, legend.Padding = true, true, 2
	for i, a := range arms {
		legend.Add(cut(a, 90), thumb(i))
	}
	legend.ThumbnailWidth = 26
	legend.Draw(c)
	c.Max.Y -= headHeight(title, arms) - titleHeight(title)
	return c
}

func titleHeight(title string) vg.Length {
	return vg.Length(len(fold(title, 84)))*11*1.35 + 4
}

// headHeight is what titled takes.
func headHeight(title string, arms []string) vg.Length {
	return titleHeight(title) + vg.Length(len(arms))*12 + 8
}

// fold breaks text at spaces into lines of n runes; longer words are cut.
func fold(s string, n int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(s) {
		w = cut(w, n)
		switch {
		case line == "":
			line = w
		case len([]rune(line))+1+len([]rune(w)) > n:
			lines = append(lines, line)
			line = w
		default:
			line += " " + w
		}
	}
	return append(lines, line)
}

// cut shortens s to n runes.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-2]) + ".."
	}
	return s
}
