package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"spindle/reports/record"
)

// cases gives one test for each patch and condition, and one for the whole
// series and each condition.
func (g *Gate) cases() []test {
	var out []test
	for _, x := range g.patches {
		suite := plainText(g.label(x)) + " " + x.Subject
		if x.Problem != "" {
			out = append(out, test{suite: suite, name: "applies", failure: "does not apply", said: []string{oneLine(x.Problem)}})
			continue
		}
		if g.facts.Each {
			out = append(out, g.casesOf(suite, x.steps)...)
		}
	}
	if g.a == nil || g.facts.Each && len(g.patches) == 1 {
		return out
	}
	var whole []step
	for _, k := range g.whole {
		whole = append(whole, step{comparison: k, view: g.a})
	}
	return append(out, g.casesOf("the whole series", whole)...)
}

// casesOf gathers the metrics of each condition.
func (g *Gate) casesOf(suite string, steps []step) []test {
	by := map[record.Condition][]step{}
	for _, s := range steps {
		by[s.condition] = append(by[s.condition], s)
	}
	var out []test
	for _, c := range g.a.manifest.Conditions {
		if len(by[c]) == 0 {
			out = append(out, test{suite: suite, name: c.String(), skipped: "not measured"})
			continue
		}
		t := test{suite: suite, name: c.String()}
		var bad []string
		for _, s := range gravest(by[c]) {
			unit := g.a.unit(c, s.metric)
			p := g.pageOf(s, nil)
			t.said = append(t.said, fmt.Sprintf("%s: %s, %s", s.metric.Name, s.finding(), p.bare(s.comparison, unit)))
			switch f := s.finding(); {
			case s.since > 0:
				t.skipped = fmt.Sprintf("broken since patch %d", s.since)
			case f == armBroke || f == bothBroke:
				bad = append(bad, s.how())
			case f == worse:
				bad = append(bad, s.metric.Name+" worse")
			case s.metric.Primary && (f == undecided || f == noBaseline || f == baselineBroke || f == planFault):
				t.skipped = string(f)
			}
		}
		slices.Sort(bad)
		if bad = slices.Compact(bad); len(bad) > 0 {
			t.failure, t.skipped = strings.Join(bad, ", "), ""
		}
		t.said = plainAll(t.said)
		out = append(out, t)
	}
	return out
}

// JUnit gives the verdicts in JUnit's form, one case for each patch and
// condition.
func (g *Gate) JUnit() ([]byte, error) { return junitOf(g.name(), g.cases()) }

// TAP gives the same in the Test Anything Protocol.
func (g *Gate) TAP() []byte {
	var warnings []string
	if g.a != nil {
		warnings = g.a.warnings
	}
	return tapOf(warnings, g.cases())
}

// name is what a test report is called: the plan's name, or the series' title.
func (g *Gate) name() string {
	if g.a != nil {
		return g.a.manifest.Name
	}
	return "series " + g.facts.Title
}

// Formats of [Gate.Render].
func gateFormats() map[string]func(*Gate) ([]byte, error) {
	return map[string]func(*Gate) ([]byte, error){
		"mail":  func(g *Gate) ([]byte, error) { return g.Reply(), nil },
		"md":    func(g *Gate) ([]byte, error) { return g.Markdown(), nil },
		"junit": (*Gate).JUnit,
		"tap":   func(g *Gate) ([]byte, error) { return g.TAP(), nil },
	}
}

// GateFormats names what [Gate.Render] can give.
func GateFormats() []string { return slices.Sorted(maps.Keys(gateFormats())) }

// WriteTo puts reply.txt, reply.md, junit.xml and results.tap into dir.
func (g *Gate) WriteTo(dir string) error {
	junit, err := g.JUnit()
	if err != nil {
		return fmt.Errorf("report %s: %w", dir, err)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{"junit.xml", junit}, {"results.tap", g.TAP()}, {"reply.md", g.Markdown()}, {"reply.txt", g.Reply()}} {
		if err := put(dir, f.name, f.data); err != nil {
			return err
		}
	}
	return nil
}

// Render gives the report in one piece, by a name of [GateFormats].
func (g *Gate) Render(format string) ([]byte, error) {
	f, ok := gateFormats()[format]
	if !ok {
		return nil, fmt.Errorf("no format %q: want one of %s", format, strings.Join(GateFormats(), ", "))
	}
	return f(g)
}
