package workloads

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"spindle/internal/unit"
	"spindle/reports/record"
)

// Spec is a workload as a plan names it: one program with its options, and a
// name where the derived one will not do.
//
//   - dd: {size: 96MiB, conv: fsync}
//   - fsync-tester: {mode: reuse}
//     name: torture-second-run
//   - startup: {}
//     beside:
//   - dd: {size: 10GiB}
type Spec struct {
	Name        string       `yaml:"name" json:"name,omitempty"`
	DD          *DD          `yaml:"dd" json:"dd,omitempty"`
	FsyncTester *FsyncTester `yaml:"fsync-tester" json:"fsync_tester,omitempty"`
	Fio         *Fio         `yaml:"fio" json:"fio,omitempty"`
	ReadToPipe  *ReadToPipe  `yaml:"read-to-pipe" json:"read_to_pipe,omitempty"`
	Ioperf      *Ioperf      `yaml:"ioperf" json:"ioperf,omitempty"`
	Startup     *Startup     `yaml:"startup" json:"startup,omitempty"`
	Create      *Create      `yaml:"create" json:"create,omitempty"`
	Age         *Age         `yaml:"age" json:"age,omitempty"`
	Command     *Command     `yaml:"command" json:"command,omitempty"`

	// Beside are programs that run beside it. They start first and are asked
	// to end when it has ended; their metrics follow its own, under their
	// names. Each has a directory of its own in the file system.
	Beside []Spec        `yaml:"beside" json:"beside,omitempty"`
	After  unit.Duration `yaml:"after" json:"after,omitempty"` // it starts this long after those beside it
	// Until is of a program beside another: "foreground" (the default) or
	// "done", which lets it run to its own end.
	Until string `yaml:"until" json:"until,omitempty"`

	// Aged has the file system made old before, so: once, untimed, by the
	// baseline's kernel, so that all arms start from the same bytes.
	Aged *Age `yaml:"aged" json:"aged,omitempty"`

	// Settings are the kernel's while it runs: a condition, where an arm's are
	// compared.
	Settings *Settings `yaml:"settings" json:"settings,omitempty"`
}

// kinds are the programs by their names in a plan.
const kinds = "dd, fsync-tester, fio, read-to-pipe, ioperf, startup, create, age, command"

// program is one of the programs that a Spec can name.
type program interface {
	validate() error
	title() string
	slug() string
	// estimate gives the seconds of the timed part on a drive that streams at
	// that many bytes a second.
	estimate(bytesPerSecond float64) float64
	space() unit.Size // on the drive; 0 if unknown
	onDevice() bool   // can run on the drive itself
	onFiles() bool    // can run in a file system
	metrics() []record.MetricInfo
	commands() []command // that it needs in the guest
	// prepare is the untimed part.
	prepare(ctx context.Context, r *run) error
	// measure is the timed part. The metrics are those that metrics()
	// announced, in that order.
	measure(ctx context.Context, r *run) ([]record.Metric, error)
}

// nameForm keeps names usable in tables, file names and command lines.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// programs gives the programs that are set.
func (s Spec) programs() []program {
	var ps []program
	if s.DD != nil {
		ps = append(ps, s.DD)
	}
	if s.FsyncTester != nil {
		ps = append(ps, s.FsyncTester)
	}
	if s.Fio != nil {
		ps = append(ps, s.Fio)
	}
	if s.ReadToPipe != nil {
		ps = append(ps, s.ReadToPipe)
	}
	if s.Ioperf != nil {
		ps = append(ps, s.Ioperf)
	}
	if s.Startup != nil {
		ps = append(ps, s.Startup)
	}
	if s.Create != nil {
		ps = append(ps, s.Create)
	}
	if s.Age != nil {
		ps = append(ps, s.Age)
	}
	if s.Command != nil {
		ps = append(ps, s.Command)
	}
	return ps
}

// program gives the one program of a valid Spec; nil otherwise.
func (s Spec) program() program {
	if ps := s.programs(); len(ps) == 1 {
		return ps[0]
	}
	return nil
}

// Validate tells what is wrong with the workload, in the words of a plan.
func (s Spec) Validate() error {
	if err := s.validateOne(); err != nil {
		return err
	}
	if s.Settings != nil {
		if err := s.Settings.Validate(); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
	}
	if s.Aged != nil {
		if err := s.Aged.validate(); err != nil {
			return fmt.Errorf("aged: %w", err)
		}
	}
	return s.validateBeside()
}

// validateOne looks at the program alone.
func (s Spec) validateOne() error {
	if s.Name != "" && !nameForm.MatchString(s.Name) {
		return fmt.Errorf("name %q: use lower-case letters, digits, dots and dashes", s.Name)
	}
	switch ps := s.programs(); len(ps) {
	case 0:
		return errors.New("names no program: write one of " + kinds)
	case 1:
		return ps[0].validate()
	}
	return errors.New("names more than one program: a workload is one of " + kinds + "; make it two entries of the list, or run one beside the other (beside:)")
}

// Title says the workload in a line for tables: "dd 96 MiB conv=fsync".
func (s Spec) Title() string {
	p := s.program()
	if p == nil {
		return "no workload"
	}
	t := p.title()
	for i, b := range s.Beside {
		t += map[bool]string{true: " beside ", false: " and "}[i == 0] + b.Title()
	}
	if s.Aged != nil {
		t += fmt.Sprintf(" on a file system %d rounds old", s.Aged.options().Rounds)
	}
	if s.Settings != nil {
		t += s.Settings.title()
	}
	if s.Name != "" { // in front: headings are cut behind
		t = s.Name + ": " + t
	}
	return t
}

// Slug gives the workload's name in conditions and file names: Name, or one
// derived from what matters most ("dd-fsync", "fsync-tester", "fio-randread").
// Two workloads may derive the same one; then the plan must name them.
func (s Spec) Slug() string {
	p := s.program()
	switch {
	case s.Name != "":
		return s.Name
	case p == nil:
		return "none"
	}
	name := p.slug()
	for _, b := range s.Beside {
		name += "-beside-" + b.Slug()
	}
	if s.Aged != nil {
		name += "-aged"
	}
	return name
}

// EstimateSeconds guesses how long the timed part takes on a drive with that
// sequential rate, for a plan's estimate. It ignores seeks, so it is a lower
// bound for workloads that seek.
func (s Spec) EstimateSeconds(rate unit.Rate) float64 {
	p := s.program()
	if p == nil || rate <= 0 {
		return 0
	}
	seconds := s.After.Std().Seconds() + p.estimate(float64(rate))
	for _, b := range s.Beside {
		if b.Until == untilDone {
			seconds = max(seconds, b.EstimateSeconds(rate))
		}
	}
	return seconds
}

// Space gives how much of the drive the workload fills, or 0 if it cannot be
// told. A file system needs some more.
func (s Spec) Space() unit.Size {
	p := s.program()
	if p == nil {
		return 0
	}
	need := p.space()
	for _, b := range s.Beside {
		need += b.Space()
	}
	if s.Aged != nil {
		need += s.Aged.space()
	}
	return need
}

// Metrics gives what the workload will report, the primary metric first.
func (s Spec) Metrics() []record.MetricInfo {
	if p := s.program(); p != nil {
		return append(p.metrics(), s.besideMetrics()...)
	}
	return nil
}

// spaced writes a size as prose does: "96 MiB".
func spaced(s unit.Size) string {
	text := s.String()
	for i, c := range text {
		if c > '9' {
			return text[:i] + " " + text[i:]
		}
	}
	return text
}

// commands gives the programs that it and those beside it need in the guest.
func (s Spec) commands() []command {
	cs := s.program().commands()
	for _, b := range s.Beside {
		cs = append(cs, b.program().commands()...)
	}
	return cs
}
