package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"spindle/internal/fault"
	"spindle/internal/unit"
	drives "spindle/pipeline/drive"
	"spindle/pipeline/drive/check"
)

// drive is the verbs about drives: what there are, what one is, and whether it
// does here what it is to do.
func drive(ctx context.Context, a *app, args []string) error {
	f := a.flags("drive")
	asJSON := f.Bool("json", false, "for programs")
	asYAML := f.Bool("yaml", false, "show: the profile's file, to begin one of one's own")
	size := f.String("size", "", "show, check: present only the first `SIZE` of the drive, such as 20GiB")
	depth := f.Int("queue-depth", 0, "show, check: commands the drive takes at a time (default the profile's)")
	rate := f.String("media-rate", "", "check: rescale the media to this `RATE`, such as 40MB/s")
	seconds := f.Duration("time", 5*time.Second, "check: how long each load runs")
	guest := f.Bool("in-guest", false, "check: in an emulated guest")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return f.wrong("wants list, show or check")
	}
	word, rest := rest[0], rest[1:]
	switch {
	case !slices.Contains([]string{"list", "show", "check"}, word):
		return f.wrong("wants list, show or check, not %s", word)
	case word == "list" && len(rest) > 0:
		return f.wrong("list takes no arguments")
	case word == "list":
		return a.listDrives(*asJSON)
	case len(rest) != 1:
		return f.wrong("%s wants one profile or file", word)
	case *seconds < time.Second || *seconds > time.Hour:
		return f.wrong("--time %v: not between 1s and 1h", *seconds)
	}
	if f.has("queue-depth") && *depth < 1 {
		return f.wrong("--queue-depth %d: write at least 1, or leave it out", *depth)
	}
	s := drives.Spec{Profile: rest[0], QueueDepth: *depth}
	for _, x := range []struct {
		flag, text string
		into       interface{ UnmarshalText([]byte) error }
	}{{"size", *size, &s.Size}, {"media-rate", *rate, &s.MediaRate}} {
		if x.text != "" {
			if err := x.into.UnmarshalText([]byte(x.text)); err != nil {
				return f.wrong("--%s: %v", x.flag, err)
			}
		}
	}
	if s, err = a.readProfile(s); err != nil {
		return err
	}
	switch {
	case word == "show" && *asYAML:
		text, err := s.Text()
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(text)
		return err
	case word == "show":
		return a.showDrive(s, *asJSON)
	}
	return a.checkDrive(ctx, s, *seconds, *guest, *asJSON)
}

// readProfile reads the profile's file where it is one, and shows the line that
// is wrong.
func (a *app) readProfile(s drives.Spec) (drives.Spec, error) {
	s, err := s.ReadProfile(".")
	if err == nil {
		err = s.Validate()
	}
	var place *drives.FileError
	if errors.As(err, &place) {
		return s, &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("%w\n%s", err, place.Excerpt())}
	}
	return s, err
}

func (a *app) listDrives(asJSON bool) error {
	type entry struct {
		Name  string `json:"name"`
		Title string `json:"title"`
		About string `json:"about"`
	}
	var list []entry
	for _, name := range drives.Profiles() {
		info, err := drives.Spec{Profile: name}.Show()
		if err != nil {
			return err
		}
		list = append(list, entry{name, info.Title, drives.Spec{Profile: name}.Describe()})
	}
	if asJSON {
		return writeJSON(a, list)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	for _, e := range list {
		info, err := drives.Spec{Profile: e.Name}.Show()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name, e.Title, brief(info))
	}
	return w.Flush()
}

// brief is what a drive does, in half a line.
func brief(i drives.Info) string {
	if !i.Timed {
		return "no timing"
	}
	return fmt.Sprintf("%s, %s", streaming(i.SequentialOuter), milliseconds(i.RandomRead))
}

func streaming(r unit.Rate) string { return fmt.Sprintf("%.4g MB/s", float64(r)/1e6) }

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
}

// showDrive prints the parameters with their sources, and what is to be
// expected of them.
func (a *app) showDrive(s drives.Spec, asJSON bool) error {
	info, err := s.Show()
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a, info)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", info.Profile, info.Title)
	if info.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", info.Note)
	}
	fmt.Fprintln(&b)
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	last := ""
	for _, p := range info.Params {
		from := p.Source
		if from == last && from != "" {
			from = "as above"
		}
		last = p.Source
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.Text, from)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if info.Timed {
		fmt.Fprint(&b, "\nexpected of the model:\n")
		outer, inner, all := streaming(info.SequentialOuter), streaming(info.SequentialInner), ""
		if outer == inner {
			outer, inner, all = "", "", outer
		}
		for _, row := range [][2]string{
			{"average seek, read", optional(info.SeekRead)},
			{"average seek, write", optional(info.SeekWrite)},
			{"half a revolution", optional(info.HalfTurn)},
			{"sequential read, outer", outer},
			{"sequential read, inner", inner},
			{"sequential read", all},
			{"random read of 4 KiB, depth 1", fmt.Sprintf("%s, %.0f/s", milliseconds(info.RandomRead), float64(time.Second)/float64(info.RandomRead))},
			{fmt.Sprintf("random read of 4 KiB, depth %d", info.Depth), fmt.Sprintf("%.0f/s", info.RandomReadDeep)},
		} {
			if row[1] != "" {
				fmt.Fprintf(w, "  %s\t%s\n", row[0], row[1])
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	_, err = io.WriteString(a.stdout, b.String())
	return err
}

// optional leaves out what a drive does not have.
func optional(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return milliseconds(d)
}

// checkDrive measures the drive and fails if it is beyond its bounds.
func (a *app) checkDrive(ctx context.Context, s drives.Spec, each time.Duration, guest, asJSON bool) error {
	o := check.Options{Seed: 1, Each: each, Log: a.log}
	var r check.Result
	var err error
	if guest {
		r, err = a.checkInGuest(ctx, s, o)
	} else {
		r, err = check.Direct(ctx, s, o)
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = writeJSON(a, r)
	} else {
		_, err = io.WriteString(a.stdout, r.Text())
	}
	if err != nil {
		return err
	}
	if over := r.Over(); len(over) > 0 {
		e := fault.New(fault.Kernel, "drive-check", fmt.Errorf("%d of %d loads are beyond their bounds", len(over), len(r.Rows)))
		e.Hint = "leave the host's CPUs to the check; spindle doctor says what else runs"
		return e
	}
	return nil
}
