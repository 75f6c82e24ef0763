package workloads

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/unit"
	"spindle/reports/record"
)

// Fio is a fio job file, run in the file system or on the drive itself.
//
//   - fio:
//     options: {rw: randread, bs: 4k, direct: 1, size: 64m, runtime: 30, time_based: 1}
//     primary: read p99
type Fio struct {
	// One of the two: the text of a job file, or the options of one job. Values
	// are fio's, so sizes are 4k and 1m: see checkFioSizes.
	Job     string            `yaml:"job" json:"job,omitempty"`
	Options map[string]string `yaml:"options" json:"options,omitempty"`

	// On is "files" or "device"; "" is what there is: files where the condition
	// has a file system, the device where it has none.
	On string `yaml:"on" json:"on,omitempty"`

	// Primary names the metric that the verdict is about. "" is the bandwidth
	// of the first job.
	Primary string `yaml:"primary" json:"primary,omitempty"`
}

// jobName is the section that Options become.
const jobName = "job"

// text gives the job file. Options are in the order of their names, but for the
// engine: fio takes an engine's own options only after it.
func (f *Fio) text() string {
	if f.Job != "" {
		return strings.TrimRight(f.Job, "\n") + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]\n", jobName)
	keys := sortedKeys(f.Options)
	slices.SortStableFunc(keys, func(a, b string) int {
		switch {
		case a == "ioengine":
			return -1
		case b == "ioengine":
			return 1
		}
		return 0
	})
	for _, k := range keys {
		fmt.Fprintf(&b, "%s=%s\n", k, f.Options[k])
	}
	return b.String()
}

func (f *Fio) sections() ([]fioSection, error) { return parseFioJob(f.text()) }

func (f *Fio) validate() error {
	switch {
	case f.Job == "" && len(f.Options) == 0:
		return errors.New("fio: no job: write its text under job or its options under options")
	case f.Job != "" && len(f.Options) > 0:
		return errors.New("fio: job and options exclude each other")
	case !slices.Contains([]string{"", "files", "device"}, f.On):
		return fmt.Errorf("fio: on %q: there are files and device", f.On)
	}
	for k, v := range f.Options {
		if k == "" || strings.ContainsAny(k, "=[]\n;# ") || strings.ContainsAny(v, "\n") {
			return fmt.Errorf("fio: option %q: not one line of a job file", k)
		}
	}
	sections, err := f.sections()
	if err != nil {
		return fmt.Errorf("fio: %w", err)
	}
	for _, s := range sections {
		if err := s.check(f.On); err != nil {
			return fmt.Errorf("fio: job %s: %w", s.name, err)
		}
	}
	if f.Primary != "" {
		var names []string
		for _, m := range fioMetrics(sections) {
			names = append(names, m.Name)
		}
		if !slices.Contains(names, f.Primary) {
			return fmt.Errorf("fio: primary %q: the job reports %s", f.Primary, strings.Join(names, ", "))
		}
	}
	return nil
}

func (f *Fio) title() string {
	sections, err := f.sections()
	if err != nil {
		return "fio"
	}
	var parts []string
	for _, s := range sections {
		parts = append(parts, s.summary(len(sections) > 1))
	}
	return "fio " + strings.Join(parts, ", ")
}

func (f *Fio) slug() string {
	sections, err := f.sections()
	if err != nil || len(sections) != 1 {
		return "fio"
	}
	return "fio-" + sections[0].rw()
}

func (f *Fio) estimate(rate float64) float64 {
	sections, err := f.sections()
	if err != nil {
		return 0
	}
	return estimateFio(sections, rate)
}

func (f *Fio) space() unit.Size {
	sections, err := f.sections()
	if err != nil {
		return 0
	}
	total := unit.Size(0)
	for _, s := range sections {
		total += s.bytes()
	}
	return total
}

func (f *Fio) onDevice() bool { return f.On != "files" }
func (f *Fio) onFiles() bool  { return f.On != "device" }

func (f *Fio) metrics() []record.MetricInfo {
	sections, err := f.sections()
	if err != nil {
		return nil
	}
	ms := fioMetrics(sections)
	i := slices.IndexFunc(ms, func(m record.MetricInfo) bool { return m.Name == f.Primary })
	i = max(i, 0)
	primary := ms[i]
	primary.Primary = true
	return append([]record.MetricInfo{primary}, slices.Delete(ms, i, i+1)...)
}

func (f *Fio) commands() []command {
	return []command{{name: "fio", version: []string{"--version"}, pack: "fio"}}
}

func (f *Fio) prepare(context.Context, *run) error { return nil }

func (f *Fio) measure(ctx context.Context, r *run) ([]record.Metric, error) {
	text := f.text()
	if r.target != "" {
		// A global section counts for the jobs after it only, and there may be
		// any number of them.
		text = "[global]\nfilename=" + r.target + "\n" + text
	}
	if err := os.WriteFile(r.out("job.fio"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	// json+ adds the histograms, without which the percentiles of a job's
	// clones could not be put together.
	runErr := r.execute(ctx, proc.Cmd{
		Path: "fio", Args: []string{"--output-format=json+", "--eta=never", r.out("job.fio")}, Dir: r.dir,
	})
	said, err := os.ReadFile(r.out("stdout"))
	if err != nil {
		return nil, err
	}
	rep, raw, err := parseFio(said)
	if runErr != nil {
		// What fio says of its jobs tells more than its exit status.
		if err == nil && rep.failed() != nil {
			return nil, fault.New(fault.Kernel, "workload", fmt.Errorf("%w; %v", rep.failed(), runErr))
		}
		return nil, runErr
	}
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(r.out("fio.json"), raw, 0o600); err != nil {
		return nil, err
	}
	if err := rep.failed(); err != nil {
		return nil, fault.New(fault.Kernel, "workload", err)
	}
	sections, err := f.sections()
	if err != nil {
		return nil, err
	}
	byName, err := rep.metrics(sections)
	if err != nil {
		return nil, err
	}
	var vs []float64
	for _, m := range f.metrics() {
		vs = append(vs, byName[m.Name])
	}
	return r.values(vs...)
}
