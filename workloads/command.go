package workloads

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/unit"
	"spindle/reports/record"
)

// Command is any program of the guest's image, with the numbers that it prints.
//
//   - command:
//     run: sqlite-bench --rows 10000 "$TARGET/db"
//     metrics:
//   - {name: commit p99, unit: s, direction: lower, regex: 'p99 ([0-9.]+) ms', scale: 0.001}
//   - {name: rows, unit: 1/s, direction: higher, json: result.rate, from: out.json}
type Command struct {
	// Run is a line for /bin/sh, run in the fresh file system; $TARGET is that
	// directory, or the drive's node where there is none, $SEED a number that is
	// the same for all arms of a block.
	Run     string        `yaml:"run" json:"run,omitempty"`
	Prepare string        `yaml:"prepare" json:"prepare,omitempty"` // a line that is run before, untimed
	Metrics []Extract     `yaml:"metrics" json:"metrics,omitempty"` // beside its runtime
	Space   unit.Size     `yaml:"space" json:"space,omitempty"`     // that it fills; 0 is unknown
	Takes   unit.Duration `yaml:"takes" json:"takes,omitempty"`     // about how long, for the plan's estimate and limit
	On      string        `yaml:"on" json:"on,omitempty"`           // files, device, or "" for what there is
}

// Extract is a number in a command's output.
type Extract struct {
	Name      string `yaml:"name" json:"name"`
	Unit      string `yaml:"unit" json:"unit"`           // "s", "B/s", "1/s", "1" for a bare number
	Direction string `yaml:"direction" json:"direction"` // lower or higher is better
	Primary   bool   `yaml:"primary" json:"primary,omitempty"`
	// One of the two: where the number is in JSON ("jobs[0].read.iops"), or a
	// regular expression with the number in its only group.
	JSON  string  `yaml:"json" json:"json,omitempty"`
	Regex string  `yaml:"regex" json:"regex,omitempty"`
	From  string  `yaml:"from" json:"from,omitempty"`   // stdout (the default), stderr, or a file that it leaves in its directory
	Take  string  `yaml:"take" json:"take,omitempty"`   // of several matches: first, last, min, max, mean or sum
	Scale float64 `yaml:"scale" json:"scale,omitempty"` // factor to Unit; 0 is 1
}

// takes are the ways to make one number of several.
var takes = []string{"first", "last", "min", "max", "mean", "sum"}

func (c *Command) validate() error {
	switch {
	case strings.TrimSpace(c.Run) == "":
		return errors.New("command: run is missing: write the line to run")
	case c.Space < 0 || c.Takes < 0:
		return errors.New("command: space or takes is negative")
	case !slices.Contains([]string{"", "files", "device"}, c.On):
		return fmt.Errorf("command: on %q: there are files and device", c.On)
	}
	seen := map[string]bool{"runtime": true}
	primary := 0
	for _, m := range c.Metrics {
		if err := m.validate(); err != nil {
			return fmt.Errorf("command: metrics: %w", err)
		}
		if seen[m.Name] {
			return fmt.Errorf("command: metrics: %s is there already", m.Name)
		}
		seen[m.Name] = true
		if m.Primary {
			primary++
		}
	}
	if primary > 1 {
		return errors.New("command: metrics: more than one is primary")
	}
	return nil
}

func (m Extract) validate() error {
	switch {
	case strings.TrimSpace(m.Name) == "":
		return errors.New("one has no name")
	case m.Unit == "":
		return fmt.Errorf("%s has no unit: write s, B/s, 1/s, or 1 for a bare number", m.Name)
	case m.Direction != string(record.Lower) && m.Direction != string(record.Higher):
		return fmt.Errorf("%s: direction %q: lower or higher is better", m.Name, m.Direction)
	case (m.JSON == "") == (m.Regex == ""):
		return fmt.Errorf("%s: write one of json and regex", m.Name)
	case m.From != "" && !filepath.IsLocal(m.From):
		return fmt.Errorf("%s: from %q: write stdout, stderr, or a file in the command's directory", m.Name, m.From)
	case m.Take != "" && !slices.Contains(takes, m.Take):
		return fmt.Errorf("%s: take %q: there are %s", m.Name, m.Take, strings.Join(takes, ", "))
	case m.Scale < 0:
		return fmt.Errorf("%s: scale %g is negative", m.Name, m.Scale)
	}
	if m.Regex != "" {
		re, err := regexp.Compile(m.Regex)
		if err != nil {
			return fmt.Errorf("%s: regex: %w", m.Name, err)
		}
		if re.NumSubexp() != 1 {
			return fmt.Errorf("%s: regex %q has %d groups: it wants one, around the number (write (?:...) for others)", m.Name, m.Regex, re.NumSubexp())
		}
		return nil
	}
	if _, err := parsePath(m.JSON); err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	return nil
}

func (c *Command) title() string {
	line, _, _ := strings.Cut(strings.TrimSpace(c.Run), "\n")
	const most = 60
	if r := []rune(line); len(r) > most {
		line = string(r[:most]) + "..."
	}
	return line
}

// slug is the program's name, as far as a name can be made of it.
func (c *Command) slug() string {
	word, _, _ := strings.Cut(strings.TrimSpace(c.Run)+" ", " ")
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(filepath.Base(word)), "-"), "-.")
	if name == "" {
		return "command"
	}
	return name
}

var notInNames = regexp.MustCompile(`[^a-z0-9.-]+`)

func (c *Command) estimate(float64) float64 {
	return orDefault(c.Takes, unit.Duration(time.Minute)).Std().Seconds()
}
func (c *Command) space() unit.Size    { return c.Space }
func (c *Command) onDevice() bool      { return c.On != "files" }
func (c *Command) onFiles() bool       { return c.On != "device" }
func (c *Command) commands() []command { return nil }

func (c *Command) metrics() []record.MetricInfo {
	runtime := record.MetricInfo{Name: "runtime", Unit: "s", Direction: record.Lower}
	var ms []record.MetricInfo
	for _, m := range c.Metrics {
		info := record.MetricInfo{Name: m.Name, Unit: m.Unit, Direction: record.Direction(m.Direction), Primary: m.Primary}
		if m.Primary {
			ms = append([]record.MetricInfo{info}, ms...)
		} else {
			ms = append(ms, info)
		}
	}
	if len(ms) > 0 && ms[0].Primary {
		return append(ms, runtime)
	}
	runtime.Primary = true
	return append([]record.MetricInfo{runtime}, ms...)
}

// shell makes the process of a line.
func (c *Command) shell(r *run, line string) proc.Cmd {
	target := r.target
	if target == "" {
		target = r.dir
	}
	return proc.Cmd{Path: "/bin/sh", Args: []string{"-c", line}, Dir: r.dir, Setenv: []string{"TARGET=" + target, fmt.Sprintf("SEED=%d", r.job.Seed)}}
}

func (c *Command) prepare(ctx context.Context, r *run) error {
	if strings.TrimSpace(c.Prepare) == "" {
		return nil
	}
	if out, err := proc.Run(ctx, withUnguarded(c.shell(r, c.Prepare))); err != nil {
		return fault.New(fault.Kernel, "workload", fmt.Errorf("prepare: %w: %s", err, tailOf(string(out.Stderr), 400)))
	}
	return nil
}

func withUnguarded(c proc.Cmd) proc.Cmd {
	c.Unguarded = true
	return c
}

func (c *Command) measure(ctx context.Context, r *run) ([]record.Metric, error) {
	start := time.Now()
	if err := r.execute(ctx, c.shell(r, c.Run)); err != nil {
		return nil, err
	}
	found := map[string]float64{"runtime": time.Since(start).Seconds()}
	for _, m := range c.Metrics {
		path := filepath.Join(r.dir, m.From)
		switch m.From {
		case "", StdoutFile:
			path = r.out(StdoutFile)
		case StderrFile:
			path = r.out(StderrFile)
		}
		text, err := os.ReadFile(path)
		if err == nil {
			found[m.Name], err = m.find(text)
		}
		if err != nil {
			// The program ended well and did not say what it should: whose
			// fault that is cannot be told here, but no other guest would do
			// better.
			return nil, fault.New(fault.Kernel, "workload", fmt.Errorf("find %s: %w", m.Name, err))
		}
	}
	var vs []float64
	for _, m := range c.metrics() {
		vs = append(vs, found[m.Name])
	}
	return r.values(vs...)
}
