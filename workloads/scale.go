package workloads

import (
	"errors"
	"math"
	"strconv"
	"time"

	"spindle/internal/unit"
	"spindle/workloads/ioperf"
	"spindle/workloads/torture"
)

// Scaled gives the workload for a machine with f times the memory, 0 < f: its
// files shrink or grow with it, and with them the times that it takes, because
// the drive stays as fast as it was. So a file stays as many times the memory,
// and as many seconds of the drive's. What a program waits between single
// operations (a commit, a read) stays: it is the application's.
//
// Only what is written in the words of spindle can be scaled: the text of a fio
// job and a command are an error.
func (s Spec) Scaled(f float64) (Spec, error) {
	if f == 1 {
		return s, nil
	}
	s.After = unit.Duration(float64(s.After) * f)
	var err error
	switch {
	case s.DD != nil:
		d := *s.DD
		d.Size = scaleSize(d.Size, f, d.bs())
		s.DD = &d
	case s.FsyncTester != nil:
		s.FsyncTester = s.FsyncTester.scaled(f)
	case s.Fio != nil:
		s.Fio, err = s.Fio.scaled(f)
	case s.ReadToPipe != nil:
		r := *s.ReadToPipe
		r.File = scaleSize(orDefault(r.File, 5*unit.GiB), f, 4*unit.KiB)
		s.ReadToPipe = &r
	case s.Ioperf != nil:
		s.Ioperf = s.Ioperf.scaled(f)
	case s.Startup != nil:
		s.Startup = s.Startup.scaled(f)
	case s.Create != nil:
		c := *s.Create
		c.Files = scaleCount(orDefault(c.Files, 10_000), f)
		s.Create = &c
	case s.Age != nil:
		s.Age = s.Age.scaled(f)
	case s.Command != nil:
		err = errors.New("command: cannot be scaled: spindle does not know which of its numbers are sizes; write them as they shall be, and leave scale out")
	}
	if err != nil {
		return s, err
	}
	if s.Aged != nil {
		s.Aged = s.Aged.scaled(f)
	}
	beside := make([]Spec, len(s.Beside))
	for i, b := range s.Beside {
		if beside[i], err = b.Scaled(f); err != nil {
			return s, err
		}
	}
	if len(beside) > 0 {
		s.Beside = beside
	}
	return s, nil
}

// scaleSize keeps a size a multiple of step, and at least one.
func scaleSize(s unit.Size, f float64, step unit.Size) unit.Size {
	if s <= 0 {
		return s
	}
	return max(1, unit.Size(math.Round(float64(s)*f/float64(step)))) * step
}

func scaleCount(n int, f float64) int { return max(1, int(math.Round(float64(n)*f))) }

// scaleTime keeps a time at least as long as floor, where it was.
func scaleTime(d time.Duration, f float64, floor time.Duration) unit.Duration {
	return unit.Duration(max(time.Duration(float64(d)*f), min(d, floor)).Round(time.Millisecond))
}

func (f *FsyncTester) scaled(by float64) *FsyncTester {
	c, o := *f, f.options()
	c.File = max(scaleSize(unit.Size(o.File), by, torture.Block), 2*torture.Block)
	// The pauses and the time together: as many fsyncs as before.
	pause := scaleTime(o.Pause, by, 20*time.Millisecond)
	c.Pause = &pause
	c.Duration = scaleTime(o.Duration, by, 5*time.Second)
	return &c
}

func (w *Age) scaled(by float64) *Age {
	c := *w
	c.Size = scaleSize(unit.Size(w.options().Size), by, 4*unit.KiB)
	return &c
}

func (w *Ioperf) scaled(by float64) *Ioperf {
	c, o := *w, w.options()
	c.Data = max(scaleSize(unit.Size(o.Data), by, ioperf.Block), unit.MiB)
	c.WAL = max(scaleSize(unit.Size(o.WAL), by, ioperf.Block), unit.MiB)
	c.CheckpointWrites = scaleCount(o.CheckpointWrites, by)
	c.Duration = scaleTime(o.Duration, by, 5*time.Second)
	return &c
}

func (w *Startup) scaled(by float64) *Startup {
	c, o := *w, w.options()
	c.Files = scaleCount(o.Files, by)
	c.Size = max(scaleSize(unit.Size(o.Size), by, 4*unit.KiB), unit.Size(c.Files)*4*unit.KiB)
	pause := scaleTime(o.Pause, by, 500*time.Millisecond)
	c.Pause = &pause
	return &c
}

// scaledFio are the options that are sizes of files.
var scaledFio = []string{"size", "filesize", "file_size", "io_size"}

func (f *Fio) scaled(by float64) (*Fio, error) {
	if f.Job != "" {
		return nil, errors.New("fio: job: the text of a job cannot be scaled: write its options under options, or leave scale out")
	}
	c := *f
	c.Options = make(map[string]string, len(f.Options))
	for k, v := range f.Options {
		c.Options[k] = v
	}
	for _, k := range scaledFio {
		n, ok := fioBytes(c.Options[k])
		if !ok {
			continue
		}
		c.Options[k] = strconv.FormatInt(int64(scaleSize(unit.Size(n), by, 4*unit.KiB)), 10)
	}
	return &c, nil
}
