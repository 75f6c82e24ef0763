package host

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// width is the most columns that a line of text takes, so that it can be quoted
// in a mail.
const width = 72

// Text renders the report for a person: the programs, then the findings, then
// the command that installs what is missing. Lines are at most 72 columns wide,
// except where a single word is longer.
func (r Report) Text() string {
	var b strings.Builder
	b.WriteString(wrap(r.Distribution.Name, "") + "\n")

	r.needs(&b, Required, "what every run needs")
	r.needs(&b, Optional, "what some runs need")
	r.needs(&b, Tests, "what only spindle's own tests need")

	b.WriteString("\nthis host\n")
	for _, f := range r.Findings {
		row(&b, string(f.Grade), f.Topic, 6, f.State)
		if f.Means != "" {
			row(&b, "", "", 6, f.Means)
		}
		if f.Do != "" {
			row(&b, "", "", 6, "-> "+f.Do)
		}
	}

	if command := r.InstallCommand(r.Missing()); command != nil {
		b.WriteString("\nto install what is missing\n")
		b.WriteString(continued(command))
	}
	return b.String()
}

// needs writes one section of needs. For the tests those that are there share a
// row: they are many, and of interest to few.
func (r Report) needs(b *strings.Builder, use Use, title string) {
	column := 0
	for _, n := range r.Needs {
		column = max(column, utf8.RuneCountInString(short(n)))
	}
	fmt.Fprintf(b, "\n%s\n", title)
	var there []string
	for _, n := range r.Needs {
		switch {
		case n.Use != use:
		case n.Path != "" && use == Tests:
			there = append(there, short(n))
		case n.Path != "":
			row(b, "ok", short(n), column, n.For)
		default:
			row(b, "missing", short(n), column, n.For)
			if n.Packages[r.Distribution.Manager] == "" {
				row(b, "", "", column, "-> "+r.elsewhere(n))
			}
		}
	}
	if len(there) > 0 {
		row(b, "ok", "", 0, strings.Join(there, ", "))
	}
}

// short is what a row calls a need.
func short(n Need) string {
	if n.label != "" {
		return n.label
	}
	return n.Name()
}

// elsewhere says where a need comes from if not from a package.
func (r Report) elsewhere(n Need) string {
	switch {
	case n.Hint != "" && (r.Distribution.Manager == Pacman || len(n.Packages) == 0):
		return n.Hint
	case n.Packages[Apt] != "":
		return "Debian's name of the package is " + n.Packages[Apt]
	}
	return "not packaged"
}

// row writes "  grade   name   text". The text is wrapped in a column of
// its own, or in the name's if that has no width.
func row(b *strings.Builder, grade, name string, column int, text string) {
	head := fmt.Sprintf("  %-8s ", grade)
	if column > 0 {
		head += fmt.Sprintf("%-*s  ", column, name)
	}
	body := wrap(text, strings.Repeat(" ", utf8.RuneCountInString(head)))
	b.WriteString(strings.TrimRight(head+strings.TrimLeft(body, " "), " ") + "\n")
}

// wrap breaks text into lines that start with indent.
func wrap(text, indent string) string {
	var lines []string
	line := indent
	for _, word := range strings.Fields(text) {
		switch {
		case line == indent:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = indent + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// continued writes a command over several lines that a shell reads as one.
func continued(command []string) string {
	var b strings.Builder
	line := " "
	for i, word := range command {
		if i > 0 && len(line)+1+len(word)+2 > width {
			b.WriteString(line + " \\\n")
			line = "   "
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}
