package pipeline

import (
	"fmt"

	"spindle/kernels"
	"spindle/kernels/tree"
	"spindle/reports/record"
)

// CheckBisect says whether the plan is one for a bisection, and gives the name
// of the kernel that is bisected. Such a plan has one arm, whose kernel is a
// repository on this host (git: PATH, with any rev) without a series: the rev is
// what the bisection chooses. Repeat and budget are not looked at.
//
// The error is the plan's fault and holds [Problems], as that of [Load].
func (p *Plan) CheckBisect() (kernel string, err error) {
	s := &source{file: p.source.file, lines: p.source.lines}
	if len(p.Arms) > 1 {
		s.entry(p.root.get("arms", p.Arms[1].Name), "arm %s: a plan for bisect has one arm, whose kernel goes through the commits; this is the second", p.Arms[1].Name)
	}
	kernel = p.Arms[0].Kernel
	at := p.root.get("kernels", kernel)
	switch k := p.Kernels[kernel]; {
	case k.Git == "":
		s.entry(at, "kernel %s: bisect wants a repository, such as {git: ~/linux, rev: v6.12}, and this is %s", kernel, k)
	case tree.IsURL(k.Git):
		s.value(at.get("git"), "git: bisect reads the history of a repository on this host: clone %s, and write the path", k.Git)
	case k.Series != "":
		s.value(at.get("series"), "series: bisect measures commits as they are: leave it out")
	}
	return kernel, s.err()
}

// Local gives the source of one of the plan's kernels with its paths made
// absolute.
func (p *Plan) Local(env Env, kernel string) kernels.Source {
	return env.place(p, p.Kernels[kernel])
}

// PickOne is [Plan.Pick] where no other condition may be meant.
func (p *Plan) PickOne(condition string) (record.Cell, error) {
	cell, err := p.Pick("", condition)
	if err != nil || condition != "" || len(p.Grid()) == 1 {
		return cell, err
	}
	s := &source{file: p.source.file, lines: p.source.lines}
	s.entry(p.root.get("conditions"), "conditions: there are %d, and one is measured: name it by its words, such as --condition %q", len(p.Grid()), words(cell.Condition))
	return cell, s.err()
}

func words(c record.Condition) string {
	return fmt.Sprintf("%s %s %s", c.Filesystem, c.Scheduler, c.Workload)
}

// MetricOf gives a metric of a condition's workload by its name; "" is the one
// that reports put first.
func (p *Plan) MetricOf(c record.Condition, name string) (record.MetricInfo, error) {
	w, _ := p.Workload(c.Workload)
	all := w.Metrics()
	var names []string
	for _, m := range all {
		if m.Name == name || name == "" && m.Primary {
			return m, nil
		}
		names = append(names, m.Name)
	}
	if name == "" && len(all) > 0 {
		return all[0], nil
	}
	s := &source{file: p.source.file, lines: p.source.lines}
	s.entry(p.root.get("workloads"), "--metric: %s", unknown("metric of "+c.Workload, name, names))
	return record.MetricInfo{}, s.err()
}
