package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"spindle/reports/internal/plots"
	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// ladder is one place, a drive with a file system and a scheduler, asked by
// more and more clients.
type ladder struct {
	conditions []record.Condition // by number of clients
	clients    []int
	metric     record.MetricInfo
}

// ladders gives those that have two rungs or more.
func (a *analysis) ladders() []ladder {
	var out []ladder
	at := map[[4]string]int{}
	for _, c := range a.manifest.Conditions {
		w := a.workload(c)
		if w.Alike == "" || c.Workload == "" {
			continue
		}
		k := [4]string{c.Drive, c.Filesystem, c.Scheduler, w.Alike}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, ladder{metric: a.throughput(c)})
		}
		if !slices.Contains(out[i].clients, w.Clients) {
			out[i].clients = append(out[i].clients, w.Clients)
			out[i].conditions = append(out[i].conditions, c)
		}
	}
	out = slices.DeleteFunc(out, func(l ladder) bool { return len(l.clients) < 2 })
	for _, l := range out {
		slices.SortFunc(l.conditions, func(x, y record.Condition) int {
			return cmp.Compare(a.workload(x).Clients, a.workload(y).Clients)
		})
		slices.Sort(l.clients)
	}
	return out
}

// throughput picks the metric that clients are expected to change: the first
// rate, or else the primary one.
func (a *analysis) throughput(c record.Condition) record.MetricInfo {
	ms := a.metrics(c)
	if i := slices.IndexFunc(ms, func(m record.MetricInfo) bool {
		return m.Direction == record.Higher && (m.Unit == "B/s" || m.Unit == "1/s")
	}); i >= 0 {
		return ms[i]
	}
	if len(ms) == 0 {
		return record.MetricInfo{}
	}
	return ms[0]
}

// name is that of a ladder's plot.
func (l ladder) name() string {
	c := l.conditions[0]
	return record.Slug("clients", c.Drive, c.Filesystem, c.Scheduler, c.Workload)
}

// againstClients writes for each place how throughput goes with the number of
// clients, and where it is highest.
func (p *page) againstClients() {
	ls := p.ladders()
	if len(ls) == 0 {
		return
	}
	p.heading(2, "Against the number of clients")
	for _, l := range ls {
		p.heading(3, p.where(l.conditions[0]))
		unit := p.unit(l.conditions[0], l.metric)
		p.say("%s.", capital(p.caption(group{conditions: l.conditions[:1]}, l.metric)))
		t := text.Table{Head: []string{"clients"}, Right: []bool{true}}
		for _, arm := range p.manifest.Arms {
			t.Head, t.Right = append(t.Head, text.Clean(arm.Name)), append(t.Right, true)
		}
		one := len(p.arms()) == 1
		if one {
			t.Head = append(t.Head, "change")
		}
		var list []string
		most := make([]float64, len(p.manifest.Arms))
		where := make([]int, len(p.manifest.Arms))
		for i, c := range l.conditions {
			row := []string{fmt.Sprint(l.clients[i])}
			for j, arm := range p.manifest.Arms {
				s := p.describe(arm.Name, c, l.metric)
				row = append(row, value(s, unit, " ± "))
				if better := s.Mean > most[j] == (l.metric.Direction == record.Higher); s.N > 0 && (better || where[j] == 0) {
					most[j], where[j] = s.Mean, l.clients[i]
				}
			}
			if one {
				delta := "-"
				if k := p.find(p.arms()[0], c, l.metric.Name); k != nil {
					delta = p.cell(k, unit)
				}
				row = append(row, delta)
			}
			t.Rows = append(t.Rows, row)
			list = append(list, strings.Join(row, ", "))
		}
		p.table([]layout{{Table: t}}, list)
		var best []string
		for j, arm := range p.manifest.Arms {
			if where[j] > 0 {
				best = append(best, fmt.Sprintf("%s with %d", text.Clean(arm.Name), where[j]))
			}
		}
		p.say("Best: %s.", strings.Join(best, ", "))
		p.figure(l.name(), "Against the number of clients, every sample")
	}
}

// drawClients gives the plot of a ladder.
func (a *analysis) drawClients(l ladder) plots.Clients {
	c := l.conditions[0]
	unit := a.unit(c, l.metric)
	axis := l.metric.Name
	if unit.name != "" {
		axis += ", " + unit.name
	}
	c.Workload = ""
	d := plots.Clients{Title: plain(c.String() + ": " + l.metric.Name + " against the number of clients"), Axis: plain(axis), Arms: a.armNames(), Count: l.clients}
	for _, c := range l.conditions {
		var cells []plots.Cell
		for _, arm := range a.manifest.Arms {
			s := stat.Describe(a.values(record.Cell{Arm: arm.Name, Condition: c}, l.metric.Name))
			x := plots.Cell{Mean: s.Mean / unit.size, Low: s.Low / unit.size, High: s.High / unit.size}
			if s.N < 3 {
				x.Low, x.High = math.NaN(), math.NaN()
			}
			for _, v := range a.values(record.Cell{Arm: arm.Name, Condition: c}, l.metric.Name) {
				x.Values = append(x.Values, v/unit.size)
			}
			cells = append(cells, x)
		}
		d.Cells = append(d.Cells, cells)
	}
	return d
}
