package bisect

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"spindle/pipeline"
	"spindle/reports/bisection"
	"spindle/reports/stat"
)

// Report gives what a bisection found so far, from its directory and its
// repository alone.
func Report(ctx context.Context, env pipeline.Env, dir string) (bisection.Result, error) {
	s, err := ReadLog(dir)
	if err != nil {
		return bisection.Result{}, err
	}
	h, err := repo{s.Start.Repo}.readHistory(ctx, s.Start.Good, s.Start.Bad, s.Start.Paths)
	if err != nil {
		return bisection.Result{}, fmt.Errorf("report %s: %w", dir, err)
	}
	r := s.result(h)
	r.Dir = dir
	if p, err := pipeline.Load(s.Start.Manifest.Plan.Path, []byte(s.Start.Manifest.Plan.Text)); err == nil {
		if w, ok := p.Workload(s.Start.Condition.Workload); ok {
			r.Workload = w.Title()
		}
	}
	return r, nil
}

// result puts a state into the form of reports.
func (s *State) result(h *History) bisection.Result {
	a := s.Answer(h)
	st := s.Start
	r := bisection.Result{
		Kind: string(a.Kind), Probability: finite(a.Probability),
		Repo: st.Repo, GoodRev: st.GoodRev, BadRev: st.BadRev, Paths: st.Paths,
		Metric: st.Metric, Workload: st.Condition.Workload, Condition: st.Condition, Virtual: st.Virtual,
		Ends:    bisection.Ends{SameKernel: a.Ends.Alike, Change: change(a.Ends.Change)},
		Boots:   bisection.Boots{Ends: s.boots(phaseEnds), Search: s.boots(phaseSearch), Confirm: s.boots(phaseConfirm), Kernels: len(s.Kernels), Skipped: len(s.Skips)},
		Seconds: s.Last.Sub(s.Began).Seconds(),
		Again:   s.commandLine(), Host: st.Manifest,
	}
	if st.Manifest != nil {
		r.Plan = st.Manifest.Plan.Path
	}
	if a.Ends.Same != nil {
		c := change(*a.Ends.Same)
		r.Ends.Self = &c
	}
	for id := range s.Kernels {
		if s.twin(id) != "" {
			r.Boots.Twins++
		}
	}
	r.Commits = s.commits(h, a)
	r.Good, r.Bad = r.Commits[0], r.Commits[len(r.Commits)-1]
	for _, i := range a.Culprits {
		r.Culprits = append(r.Culprits, r.Commits[i])
	}
	if x := a.Search; x != nil {
		r.Change = &bisection.Change{Share: finite(math.Expm1(x.Change)), Low: finite(math.Expm1(x.Low)), High: finite(math.Expm1(x.High)), Claim: true}
		if x.Second != nil {
			r.Second = &bisection.Second{Probability: x.Second.Probability, Share: finite(math.Expm1(x.Second.Change))}
			for _, i := range x.Second.Culprits {
				r.Second.Culprits = append(r.Second.Culprits, r.Commits[i])
			}
		}
	}
	if c := a.Confirmation; c != nil {
		way := s.Reverts[c.Commit]
		r.Confirm = &bisection.Confirm{Stands: c.Stands(), Patch: filepath.ToSlash(way.File), Why: way.Why}
		for _, p := range c.Parents {
			r.Confirm.Parents = append(r.Confirm.Parents, bisection.Comparison{Base: p.Base, Change: change(p.Verdict)})
		}
		if c.Revert != nil {
			r.Confirm.Revert = &bisection.Comparison{Base: c.Revert.Base, Change: change(c.Revert.Verdict)}
		}
		if skip, ok := s.Skips[way.ID]; ok {
			r.Confirm.Why = skip.says()
		}
	}
	return r
}

// commits gives the history with what is known of each commit.
func (s *State) commits(h *History, a Answer) []bisection.Commit {
	values := map[string][]float64{} // by Alike
	for _, x := range s.Samples {
		k := s.Kernels[x.Commit].Alike
		values[k] = append(values[k], x.Value)
	}
	var after []float64
	if a.Search != nil {
		after = h.inherit(a.Search.Posterior)
	}
	out := make([]bisection.Commit, len(h.Commits))
	for i, c := range h.Commits {
		x := &out[i]
		*x = bisection.Commit{ID: c.ID, Subject: c.Subject, Author: c.Author, Twin: s.twin(c.ID)}
		if k, ok := s.Kernels[c.ID]; ok {
			x.Values = values[k.Alike]
		}
		if d := stat.Describe(x.Values); d.N > 0 {
			x.Mean = d.Mean
			if d.N > 2 {
				x.Low, x.High = finite(d.Low), finite(d.High)
			}
		}
		if after != nil {
			x.Culprit, x.After = finite(a.Search.Posterior[i]), min(1, finite(after[i]))
		}
		if skip, ok := s.Skips[c.ID]; ok {
			x.Skip, x.Log = skip.says(), filepath.ToSlash(skip.Log)
		}
	}
	return out
}

// commandLine gives what makes the bisection again.
func (s *State) commandLine() []string {
	words := []string{"spindle", "bisect", "plan.yaml", "--good", short(s.Start.Good), "--bad", short(s.Start.Bad), "--metric", s.Start.Metric.Name, "--condition",
		strings.Join([]string{s.Start.Condition.Drive, s.Start.Condition.Filesystem, s.Start.Condition.Scheduler, s.Start.Condition.Workload}, " ")}
	if len(s.Start.Paths) > 0 {
		words = append(append(words, "--"), s.Start.Paths...)
	}
	for i, w := range words {
		if strings.ContainsAny(w, " \t'\"$*?[]()") {
			words[i] = quoteShell(w)
		}
	}
	// Long lines are broken where a shell takes it.
	var lines []string
	line := ""
	for _, w := range words {
		if line != "" && len(line)+1+len(w) > 64 {
			lines, line = append(lines, line+` \`), ""
		}
		line = strings.TrimSpace(line + " " + w)
	}
	return append(lines, line)
}

func change(v stat.Verdict) bisection.Change {
	return bisection.Change{Share: finite(v.Change), Low: finite(v.Low), High: finite(v.High), N: v.N, Sees: finite(v.MDE), Claim: claimed(v)}
}

// finite makes what JSON cannot hold zero.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
