package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"spindle/pipeline/bisect/search/simulate"
)

// bisectSimulate searches histories whose culprit is known, and lets others
// search them too.
func bisectSimulate(ctx context.Context, a *app, args []string) error {
	f := a.bisectUsage("simulate", "[--searches N] [--table NAME] [--noise P] [--effect P] [--json]", "search made-up histories whose culprit is known, and say how often and how dearly it is found; boots nothing")
	searches := f.Int("searches", 200, "`number` of searches a row; dear rows get fewer")
	seed := f.Uint64("seed", 1, "`number` that all histories and noise are drawn from")
	only := f.String("table", "", "only this `table`")
	noise := f.Float64("noise", -1, "only rows of this noise, in `percent`")
	effect := f.Float64("effect", -1, "only rows of this effect, in `percent`")
	asJSON := f.Bool("json", false, "print the rows as JSON instead of tables")
	rest, err := f.parse(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return f.wrong("takes no arguments")
	case *searches < 1:
		return f.wrong("wants at least one search")
	}
	cases := simulate.Cases()
	if *only != "" {
		cases = slices.DeleteFunc(cases, func(c simulate.Case) bool { return c.Table != *only })
		if len(cases) == 0 {
			return f.wrong("there is no table %q: those there are: %q", *only, simulate.Tables())
		}
	}
	differ := func(asked, has float64) bool { return asked >= 0 && math.Abs(asked-100*has) > 1e-6 }
	cases = slices.DeleteFunc(cases, func(c simulate.Case) bool { return differ(*noise, c.Noise) || differ(*effect, c.Effect) })
	if len(cases) == 0 {
		return f.wrong("there is no row of that noise and effect: run it without to see those it has")
	}
	rows := []simulate.Row{}
	began := a.now()
	for i, c := range cases {
		a.log.Status(i, len(cases), 0, "%s: noise %g %%, effect %g %%, %.0f s so far", c.Table, 100*c.Noise, 100*c.Effect, a.now().Sub(began).Seconds())
		row, err := simulate.Run(ctx, c, *searches, *seed)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	a.log.Clear()
	if *asJSON {
		out, err := json.MarshalIndent(rows, "", "  ")
		if err != nil {
			return fmt.Errorf("write rows: %w", err)
		}
		_, err = fmt.Fprintf(a.stdout, "%s\n", out)
		return err
	}
	return simulate.Write(a.stdout, rows)
}
