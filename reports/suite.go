package reports

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// test is a comparison as a test: what is worse or broken fails, what is
// undecided is skipped.
type test struct {
	suite, name string
	failure     string // "worse", "breaks", ...
	skipped     string
	said        []string // change, values and notes
}

// tests gives one for each comparison; in a run of one arm, one for each
// condition.
func (a *analysis) tests() []test {
	p := &page{analysis: a}
	var out []test
	for _, k := range a.comparisons {
		unit := a.unit(k.condition, k.metric)
		t := test{suite: k.arm + " against " + a.baseline(), name: k.condition.String() + ": " + k.metric.Name}
		t.said = append(t.said, "change: "+p.bare(k, unit),
			a.baseline()+": "+numbers(a.describe(a.baseline(), k.condition, k.metric), unit), k.arm+": "+numbers(a.describe(k.arm, k.condition, k.metric), unit))
		t.said = append(t.said, p.allDoubts(k)...)
		t.said = plainAll(t.said)
		switch f := k.finding(); f {
		case worse, armBroke, bothBroke:
			t.failure = string(f)
		case undecided, noBaseline, baselineBroke:
			t.skipped = string(f)
		}
		out = append(out, t)
	}
	if len(a.arms()) > 0 {
		return out
	}
	for _, c := range a.manifest.Conditions {
		t := test{suite: a.baseline(), name: c.String()}
		cell := record.Cell{Arm: a.baseline(), Condition: c}
		if how := brokeWhen(a.cells[cell]); how != "" {
			t.failure = plainText(how)
		} else if len(a.cells[cell]) == 0 {
			t.skipped = "not run yet"
		}
		for _, m := range a.metrics(c) {
			t.said = append(t.said, plainText(m.Name+": "+numbers(a.describe(a.baseline(), c, m), a.unit(c, m))))
		}
		out = append(out, t)
	}
	return out
}

// bare gives a comparison's change without marks of notes.
func (p *page) bare(k *comparison, unit scale) string {
	saved := p.notes
	defer func() { p.notes = saved }()
	s := plainText(p.cell(k, unit))
	if i := strings.LastIndex(s, " ["); i > 0 {
		s = s[:i]
	}
	return s
}

// numbers gives a cell's mean, interval and number of boots.
func numbers(s stat.Summary, unit scale) string {
	return fmt.Sprintf("%s, n = %d", strings.TrimSpace(value(s, unit, " ± ")+" "+unit.name), s.N)
}

// The form of JUnit's reports as Jenkins and GitLab read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Failure *junitCause `xml:"failure"`
		Skipped *junitCause `xml:"skipped"`
		Out     string      `xml:"system-out"`
	}
	junitCause struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func (a *analysis) junit() ([]byte, error) { return junitOf(a.manifest.Name, a.tests()) }

// junitOf writes tests in that form.
func junitOf(name string, tests []test) ([]byte, error) {
	all := junitSuites{Name: name}
	for _, t := range tests {
		i := slices.IndexFunc(all.Suites, func(s junitSuite) bool { return s.Name == t.suite })
		if i < 0 {
			i = len(all.Suites)
			all.Suites = append(all.Suites, junitSuite{Name: t.suite})
		}
		s := &all.Suites[i]
		c := junitCase{Class: name + "." + t.suite, Name: t.name, Out: strings.Join(t.said, "\n")}
		s.Tests++
		all.Tests++
		switch {
		case t.failure != "":
			c.Failure = &junitCause{t.failure, t.said[0]}
			s.Failures++
			all.Failures++
		case t.skipped != "":
			c.Skipped = &junitCause{Message: t.skipped}
			s.Skipped++
			all.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	out, err := xml.MarshalIndent(all, "", "  ")
	return append(append([]byte(xml.Header), out...), '\n'), err
}

// tap gives the report in the Test Anything Protocol, version 13, as kernel
// selftests print it.
func (a *analysis) tap() []byte { return tapOf(a.warnings, a.tests()) }

// tapOf writes tests so, with warnings at the top.
func tapOf(warnings []string, tests []test) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "TAP version 13\n1..%d\n", len(tests))
	for _, s := range warnings {
		fmt.Fprintf(&b, "# %s\n", oneLine(s))
	}
	for i, t := range tests {
		word, directive := "ok", ""
		switch {
		case t.failure != "":
			word = "not ok"
		case t.skipped != "":
			directive = " # SKIP " + t.skipped
		}
		fmt.Fprintf(&b, "%s %d - %s%s\n", word, i+1, tapName(t.suite+": "+t.name), directive)
		if t.failure != "" {
			fmt.Fprintf(&b, "# %s\n", t.failure)
		}
		for _, s := range t.said {
			fmt.Fprintf(&b, "# %s\n", oneLine(s))
		}
	}
	return b.Bytes()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// tapName keeps a name from being taken for a directive.
func tapName(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(oneLine(s), `\`, `\\`), "#", `\#`)
}
