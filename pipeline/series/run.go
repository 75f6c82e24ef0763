package series

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"spindle/internal/fault"
	"spindle/kernels"
	"spindle/kernels/tree"
	"spindle/pipeline"
	"spindle/reports"
	"spindle/reports/record"
)

// Options are what a person may say of a series.
type Options struct {
	Source   Source
	Each     bool   // measure every prefix, not the whole alone
	Control  bool   // measure the base once more, as run --aa does
	Dir      string // for everything; must not be there, or be empty
	Baseline string // a run, or a series' directory, with samples of the base; "" for none
}

// Run measures a series on top of the plan's first arm, into o.Dir. A patch that
// does not apply is no error: the report names it. Where none applies nothing
// is booted.
//
// Interrupted runs end with [pipeline.Stopped] and go on with [Resume].
func Run(ctx context.Context, env pipeline.Env, p *pipeline.Plan, o Options) error {
	if err := o.Source.Validate(); err != nil {
		return err
	}
	arm, source, err := base(p)
	if err != nil {
		return err
	}
	if o.Baseline != "" {
		if _, err := oldRun(o.Baseline); err != nil {
			return err
		}
	}
	dir, err := makeDir(o.Dir)
	if err != nil {
		return err
	}
	s := reports.Series{Source: o.Source.String(), Each: o.Each, Control: o.Control, Base: arm, Plan: p.File, Command: env.Command}
	if o.Baseline != "" {
		abs, err := filepath.Abs(o.Baseline)
		if err != nil {
			return err
		}
		s.Reuse = &reports.Reuse{From: abs}
	}
	arms, err := lay(ctx, env, p, o, dir, source, &s)
	if err != nil {
		return err
	}
	if len(arms) > 0 {
		text, err := derive(p, arms)
		if err != nil {
			return err
		}
		if _, err := pipeline.Load(p.File, text); err != nil {
			return fmt.Errorf("add arms to the plan: %w", err)
		}
		s.Text = string(text)
		if err := put(filepath.Join(dir, "plan.yaml"), text); err != nil {
			return err
		}
	}
	if err := write(dir, s); err != nil {
		return err
	}
	return measure(ctx, env, dir, s)
}

// makeDir makes the directory of a series.
func makeDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", fmt.Errorf("make directory of the series: %w", err)
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return "", fmt.Errorf("make directory of the series: %w", err)
	}
	if len(entries) > 0 {
		hint := "give the series a directory of its own"
		if _, err := os.Stat(filepath.Join(abs, stateFile)); err == nil {
			hint = "to go on with the series in it: spindle series --resume " + dir
		}
		return "", &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("directory %s is not empty (%s)", dir, entries[0].Name()), Hint: hint}
	}
	return abs, nil
}

// lay reads the series into dir, tries it, and gives the arms that it adds.
func lay(ctx context.Context, env pipeline.Env, p *pipeline.Plan, o Options, dir string, source kernels.Source, s *reports.Series) ([]added, error) {
	ls, err := o.Source.fetch(ctx, dir)
	if err != nil {
		return nil, err
	}
	if source, err = o.Source.on(source, dir); err != nil {
		return nil, err
	}
	trials, err := p.TrySeries(ctx, env, source)
	if err != nil {
		return nil, err
	}
	var all, good []tree.Mail
	for i, t := range trials {
		all = append(all, t.Mail)
		patch := reports.SeriesPatch{Number: i + 1, Subject: bare(t.Mail.Subject)}
		if l, ok := readLetter(t.Mail.Text); ok {
			patch.MessageID = l.MessageID
		}
		if t.Err != nil {
			patch.Problem = t.Err.Error()
			env.Log.Printf("patch %d/%d %q: %v", i+1, len(trials), patch.Subject, t.Err)
		} else {
			good = append(good, t.Mail)
		}
		s.Patches = append(s.Patches, patch)
	}
	s.Title, s.Thread = about(ls, trials)
	file, err := keep(dir, all, good)
	if err != nil {
		return nil, err
	}
	return arms(s, file, len(good)), nil
}

// arms names the arms that a series adds, and writes them to its patches.
func arms(s *reports.Series, file string, good int) []added {
	if !s.Each {
		if good < len(s.Patches) {
			return nil // the series as a whole is not to be had
		}
		s.Patches[good-1].Arm = "series"
		return []added{{"series", file, good}}
	}
	var out []added
	for i := range s.Patches {
		p := &s.Patches[i]
		if p.Problem != "" {
			continue
		}
		p.Arm = fmt.Sprintf("upto-%d", p.Number)
		out = append(out, added{p.Arm, file, len(out) + 1})
	}
	return out
}

// keep writes the patches to the directory, and gives the file that arms are
// built from.
func keep(dir string, all, good []tree.Mail) (string, error) {
	file := filepath.Join(dir, mboxFile)
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) { // b4 wrote it
		text, err := mbox(all)
		if err != nil {
			return "", err
		}
		if err := put(file, text); err != nil {
			return "", err
		}
	}
	if len(good) == len(all) || len(good) == 0 {
		return file, nil
	}
	// Without the gaps in their numbers, which a reader of the mbox would take
	// for patches that were lost.
	file = filepath.Join(dir, appliedFile)
	var these []tree.Mail
	for i, m := range good {
		m.Text = renumber(m.Text, m.Subject, i+1, len(good))
		these = append(these, m)
	}
	text, err := mbox(these)
	if err != nil {
		return "", err
	}
	return file, put(file, text)
}

// about gives what a reply to the series goes to: its cover letter, or its
// first patch.
func about(ls []letter, trials []kernels.Trial) (title string, t *reports.Thread) {
	l, ok := cover(ls)
	if !ok {
		if l, ok = readLetter(trials[0].Mail.Text); !ok {
			return "", nil
		}
		if len(trials) > 1 && l.MessageID == "" {
			return "", nil
		}
	}
	title = bare(l.Subject)
	if l.MessageID == "" {
		return title, nil
	}
	t = &reports.Thread{Subject: l.Subject, MessageID: l.MessageID, References: l.References, Cc: slices.Concat(l.To, l.Cc)}
	if l.From != "" {
		t.To = []string{l.From}
	}
	return title, t
}

// measure carries out the run of a series that was laid out, from its start or
// from where it was stopped.
func measure(ctx context.Context, env pipeline.Env, dir string, s reports.Series) error {
	if s.Text == "" {
		return nil // no patch applies
	}
	p, err := pipeline.Load(s.Plan, []byte(s.Text))
	if err != nil {
		return fmt.Errorf("read plan of the series: %w", err)
	}
	if s.Control {
		if err := p.AddControl(); err != nil {
			return err
		}
	}
	run := RunDir(dir)
	if _, err := os.Stat(filepath.Join(run, "manifest.json")); err == nil {
		err = resume(ctx, env, run)
		return settle(ctx, env, dir, s, err)
	}
	if s.Reuse != nil {
		env.Begun = func(r *record.Run) error {
			take(env, r, p, s.Reuse)
			return write(dir, s)
		}
	}
	return settle(ctx, env, dir, s, pipeline.Run(ctx, env, p, run))
}

// settle ends a run: samples that were taken over and do not agree with fresh
// ones go, and are measured. A base that cannot be made is not the series' fault.
func settle(ctx context.Context, env pipeline.Env, dir string, s reports.Series, err error) error {
	var stopped pipeline.Stopped
	if err != nil && !errors.As(err, &stopped) && fault.Of(err) == fault.Kernel {
		return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("the base itself cannot be made: %w", err), Tail: fault.Tail(err)}
	}
	if err != nil || s.Reuse == nil {
		return err
	}
	if s, err = Read(dir); err != nil || s.Reuse == nil || s.Reuse.Taken == 0 {
		return err
	}
	dropped, err := agree(env, RunDir(dir), s.Reuse)
	if err != nil {
		return err
	}
	if err := write(dir, s); err != nil || dropped == 0 {
		return err
	}
	return resume(ctx, env, RunDir(dir))
}

// resume goes on with a run, where anything is left to do.
func resume(ctx context.Context, env pipeline.Env, run string) error {
	r, err := record.Open(run)
	if err != nil {
		return err
	}
	done, err := r.Samples()
	if err != nil || len(done) == r.Planned() {
		return err
	}
	return pipeline.Resume(ctx, env, run)
}

// Resume goes on with the series in dir.
func Resume(ctx context.Context, env pipeline.Env, dir string) error {
	s, err := Read(dir)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return measure(ctx, env, abs, s)
}

// Judge gives what the series in dir came to.
func Judge(dir string) (*reports.Gate, error) {
	s, err := Read(dir)
	if err != nil {
		return nil, err
	}
	if s.Text == "" {
		return s.Judge(nil), nil
	}
	r, err := reports.Open(RunDir(dir))
	if err != nil {
		return nil, err
	}
	return s.Judge(r), nil
}

// renumber gives a mail another place in its series.
func renumber(text []byte, subject string, n, of int) []byte {
	head, body, _ := bytes.Cut(text, []byte("\n\n"))
	head = subjectLine.ReplaceAllLiteral(head, []byte(fmt.Sprintf("Subject: [PATCH %d/%d] %s", n, of, bare(subject))))
	return slices.Concat(head, []byte("\n\n"), body)
}

// subjectLine is a mail's subject, which may go on in lines that are indented.
var subjectLine = regexp.MustCompile(`(?mi)^subject:.*(\r?\n[ \t].*)*`)
