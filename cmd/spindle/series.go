package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"spindle/internal/fault"
	"spindle/pipeline"
	"spindle/pipeline/series"
	"spindle/reports"
)

// seriesHelp is what flags do not say.
const seriesHelp = `
The plan's first arm is the base: its kernel must be source code, and the series
goes on top of it, with the arm's settings. The plan's other arms are left out
(spindle run compares arms).

The directory has reply.txt, a mail for the thread; reply.md; junit.xml and
results.tap with one case for each patch and condition; and the run itself.

Exit codes: 0 nothing is worse; 1 a patch makes something worse, breaks the
kernel, does not build or does not apply; 2 plan, series or usage, or the base
breaks; 3 our machinery or this host.

Try:  spindle series plan.yaml --mbox v2.mbox --each
`

// seriesVerb tests a patch series as a gate.
func seriesVerb(ctx context.Context, a *app, args []string) error {
	f := a.flags("series")
	var o series.Options
	f.StringVar(&o.Source.Mbox, "mbox", "", "the series as an mbox `FILE`, a directory of patches or a quilt series")
	f.StringVar(&o.Source.Range, "range", "", "the series as commits `A..B` of the base's repository")
	f.StringVar(&o.Source.B4, "b4", "", "the series by the `MESSAGE-ID` of one of its mails, fetched with b4")
	f.BoolVar(&o.Each, "each", false, "measure every prefix of the series, and name the patch at fault")
	f.BoolVar(&o.Control, "aa", false, "measure the base once more beside the arms: where it differs from itself, nothing is claimed")
	f.StringVar(&o.Baseline, "baseline", "", "take samples of the base from an earlier run in `DIR`, where nothing that matters differs")
	f.StringVar(&o.Dir, "o", "", "`directory` for all of it (default runs/NAME-series-DATE-TIME)")
	f.StringVar(&a.scale, "scale", "", "`share` of the plan's memory, files and caches instead of its own, such as 1/8")
	resume := f.String("resume", "", "go on with the interrupted series in `DIR`")
	show := f.String("report", "", "make the reports of the series in `DIR` again; with --format, print one")
	format := f.String("format", "", "of --report, as `FORMAT`: "+strings.Join(reports.GateFormats(), ", "))
	rest, err := f.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(a.stdout, seriesHelp)
	}
	if err != nil {
		return err
	}
	if *resume != "" || *show != "" {
		var others []string
		f.Visit(func(x *flag.Flag) {
			if x.Name != "resume" && x.Name != "report" && x.Name != "format" {
				others = append(others, "--"+x.Name)
			}
		})
		if len(rest) > 0 || len(others) > 0 || *resume != "" && *show != "" {
			return f.wrong("--resume and --report take everything from the directory")
		}
	}
	switch {
	case *show != "":
		return a.showSeries(*show, *format)
	case *format != "":
		return f.wrong("--format goes with --report")
	case *resume != "":
		env, err := a.env()
		if err != nil {
			return err
		}
		return a.finishSeries(*resume, series.Resume(ctx, env, *resume))
	case len(rest) != 1:
		return f.wrong("wants one plan file")
	}
	if err := o.Source.Validate(); err != nil {
		return err
	}
	p, err := a.planAt(rest[0])
	if err != nil {
		return err
	}
	if left := series.LeftOut(p); len(left) > 0 {
		a.log.Printf("left out: the plan's other arms, %s (a series is measured on the first, %s)", strings.Join(left, ", "), p.Arms[0].Name)
	}
	if o.Dir == "" {
		o.Dir = filepath.Join("runs", p.Name+"-series-"+a.now().Format("20060102-150405"))
	}
	env, err := a.env()
	if err != nil {
		return err
	}
	return a.finishSeries(o.Dir, series.Run(ctx, env, p, o))
}

// finishSeries writes what there is to say of a series, also after an
// interrupt, and turns the verdict into an exit code.
func (a *app) finishSeries(dir string, err error) error {
	var stopped pipeline.Stopped
	if err != nil && !errors.As(err, &stopped) {
		return err
	}
	g, rerr := a.writeSeries(dir)
	if rerr != nil {
		return errors.Join(err, rerr)
	}
	if err != nil {
		a.log.Printf("to go on: spindle series --resume %s", dir)
		return err
	}
	switch {
	case len(g.PlanMistakes()) > 0:
		return fault.Planf("plan: %s", strings.Join(g.PlanMistakes(), "; "))
	case g.Failed():
		return fault.Kernelf("series: %s", g.Line())
	case g.Unknown() != "":
		return fault.Planf("series: %s", g.Unknown())
	}
	a.log.Printf("series: %s", g.Line())
	return nil
}

// writeSeries makes all reports of a series' directory.
func (a *app) writeSeries(dir string) (*reports.Gate, error) {
	g, err := series.Judge(dir)
	if err != nil {
		return nil, err
	}
	if run := series.RunDir(dir); isDir(run) {
		sum, err := reports.Write(run)
		if err != nil {
			return nil, err
		}
		for _, w := range sum.Warnings {
			a.log.Printf("warning: %s", w)
		}
	}
	if err := g.WriteTo(dir); err != nil {
		return nil, err
	}
	a.log.Clear()
	fmt.Fprintln(a.stdout, filepath.Join(dir, "reply.txt"))
	return g, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// showSeries makes the reports of a series again, or prints one of them.
func (a *app) showSeries(dir, format string) error {
	if format == "" {
		_, err := a.writeSeries(dir)
		return err
	}
	g, err := series.Judge(dir)
	if err != nil {
		return err
	}
	out, err := g.Render(format)
	if err != nil {
		return fault.Planf("series: %w", err)
	}
	_, err = a.stdout.Write(out)
	return err
}
