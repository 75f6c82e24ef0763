package text

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// Page is a report in the making: the same pieces give Markdown, plain text
// and HTML. Its text must be [Clean], as for [Wrap] and [Table].
type Page struct {
	// Width is the widest line of Markdown and plain text; 0 is [Width].
	// Unlimited does not wrap at all.
	Width  int
	pieces []piece
}

// Unlimited is a width for readers that wrap by themselves.
const Unlimited = 1 << 20

type kind int

const (
	heading kind = iota
	paragraph
	list
	table
	note
	figure
)

type piece struct {
	kind  kind
	level int
	text  string // of a heading, paragraph or note; the title of a figure
	mark  string // of a note: "[1]"; the file of a figure
	items []string
	table Table
}

// Columns gives the widest line.
func (p *Page) Columns() int {
	if p.Width == 0 {
		return Width
	}
	return p.Width
}

// Heading adds a heading of level 1 to 3. It is cut to one line.
func (p *Page) Heading(level int, title string) {
	p.pieces = append(p.pieces, piece{kind: heading, level: level, text: Cut(title, p.Columns()-level-1)})
}

// Say adds a paragraph. One that begins with **words** has them in bold.
func (p *Page) Say(s string) { p.pieces = append(p.pieces, piece{kind: paragraph, text: s}) }

// List adds bullets.
func (p *Page) List(items []string) {
	if len(items) > 0 {
		p.pieces = append(p.pieces, piece{kind: list, items: items})
	}
}

// Table adds a table; whether it fits is for the caller.
func (p *Page) Table(t Table) { p.pieces = append(p.pieces, piece{kind: table, table: t}) }

// Note adds a footnote with its mark, "[1]".
func (p *Page) Note(mark, s string) {
	p.pieces = append(p.pieces, piece{kind: note, mark: mark, text: s})
}

// Figure adds a picture by its file name. A page of limited width, which is
// for mail, leaves it out.
func (p *Page) Figure(file, title string) {
	p.pieces = append(p.pieces, piece{kind: figure, mark: file, text: title})
}

// Markdown gives the page as Markdown that reads well unrendered.
func (p *Page) Markdown() string { return p.lines(false) }

// Plain gives the page as text without markup.
func (p *Page) Plain() string { return p.lines(true) }

func (p *Page) lines(plain bool) string {
	var b strings.Builder
	show := func(s string) string { return s }
	if plain {
		show = Unescape
	}
	width := p.Columns()
	for i, x := range p.pieces {
		if x.kind == figure && (plain || width != Unlimited) {
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		switch x.kind {
		case heading:
			title := show(strings.ReplaceAll(x.text, NBSP, " "))
			if !plain {
				b.WriteString(strings.Repeat("#", x.level) + " " + title + "\n")
				break
			}
			rule := map[int]string{1: "=", 2: "-"}[x.level]
			b.WriteString(title + "\n")
			if rule != "" {
				b.WriteString(strings.Repeat(rule, columns(title)) + "\n")
			}
		case paragraph:
			s := x.text
			if plain {
				s = bold.ReplaceAllString(Unescape(s), "$1")
			}
			b.WriteString(WrapTo(width, s, "", ""))
		case list:
			for _, item := range x.items {
				b.WriteString(WrapTo(width, show(item), "- ", "  "))
			}
		case table:
			if plain {
				b.WriteString(x.table.plain())
			} else {
				b.WriteString(x.table.String())
			}
		case note:
			mark := x.mark + " "
			b.WriteString(WrapTo(width, show(x.text), mark, strings.Repeat(" ", len(mark))))
		case figure:
			fmt.Fprintf(&b, "![%s](%s)\n", strings.ReplaceAll(x.text, NBSP, " "), x.mark)
		}
	}
	return b.String()
}

var bold = regexp.MustCompile(`^\*\*(.+?)\*\*`)

var escaped = regexp.MustCompile("\\\\([<`\\\\(])")

// Unescape takes back the escapes of [Clean].
func Unescape(s string) string { return escaped.ReplaceAllString(s, "$1") }

// style is small on purpose: black on white, tables that scroll by themselves.
const style = `body{font:16px/1.5 system-ui,sans-serif;color:#111;background:#fff;margin:0}
main{max-width:64rem;margin:0 auto;padding:1rem}
h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.25rem;margin-top:2rem;border-bottom:1px solid #ccc}h3{font-size:1.05rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:left;white-space:nowrap}
th{border-bottom:2px solid #888}
.right{text-align:right}
li,p,.note{overflow-wrap:anywhere}
figure{margin:1rem 0}figure svg{display:block;width:100%;max-width:46rem;height:auto}
@media print{main{max-width:none}}`

// HTML gives the page as one file that needs no other. figures holds what is
// drawn for the file names of figures, as SVG; those without are left out.
// The page is XML as well as HTML.
func (p *Page) HTML(figures map[string][]byte) string {
	var b strings.Builder
	title := "report"
	for _, x := range p.pieces {
		if x.kind == heading && x.level == 1 {
			title = Unescape(x.text)
		}
	}
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>%s</title>\n<style>\n%s\n</style>\n</head>\n<body>\n<main>\n",
		webText(title), style)
	for _, x := range p.pieces {
		switch x.kind {
		case heading:
			fmt.Fprintf(&b, "<h%d>%s</h%d>\n", x.level, web(x.text), x.level)
		case paragraph:
			s := web(x.text)
			fmt.Fprintf(&b, "<p>%s</p>\n", bold.ReplaceAllString(s, "<strong>$1</strong>"))
		case list:
			b.WriteString("<ul>\n")
			for _, item := range x.items {
				fmt.Fprintf(&b, "<li>%s</li>\n", web(item))
			}
			b.WriteString("</ul>\n")
		case table:
			x.table.html(&b)
		case note:
			n := strings.Trim(x.mark, "[]")
			fmt.Fprintf(&b, "<p class=\"note\" id=\"note-%s\">%s %s</p>\n", webText(n), webText(x.mark), web(x.text))
		case figure:
			if svg := figures[x.mark]; svg != nil {
				fmt.Fprintf(&b, "<figure>\n%s\n<figcaption>%s</figcaption>\n</figure>\n", inline(svg), web(x.text))
			}
		}
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	return b.String()
}

func web(s string) string { return webText(Unescape(s)) }

// webText escapes what HTML would read. Characters that XML cannot hold do not
// come out of Clean.
func webText(s string) string { return html.EscapeString(s) }

// prolog is what stands before the root of an SVG file and not within a page.
var prolog = regexp.MustCompile(`(?s)^.*?<svg`)

// absolute are the sizes of the root, in points: within a page the style sheet
// sizes it, and HTML knows no points there.
var absolute = regexp.MustCompile(`^(<svg[^>]*?) (?:width|height)="[0-9.]+pt"`)

func inline(svg []byte) string {
	s := strings.TrimSpace(prolog.ReplaceAllString(string(svg), "<svg"))
	for range 2 {
		s = absolute.ReplaceAllString(s, "$1")
	}
	return s
}

func (t Table) html(b *strings.Builder) {
	b.WriteString("<div class=\"scroll\">\n<table>\n<thead>\n<tr>")
	cell := func(tag string, i int, s string) {
		class := ""
		if i < len(t.Right) && t.Right[i] {
			class = ` class="right"`
		}
		fmt.Fprintf(b, "<%s%s>%s</%s>", tag, class, web(s), tag)
	}
	for i, h := range t.Head {
		cell("th", i, h)
	}
	b.WriteString("</tr>\n</thead>\n<tbody>\n")
	for _, r := range t.Rows {
		b.WriteString("<tr>")
		for i := range t.Head {
			cell("td", i, at(r, i))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>\n</div>\n")
}
