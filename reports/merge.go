package reports

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/reports/record"
)

// Merge reads several runs of one plan, from one host or many, as one: the
// blocks of the second come after those of the first. Arms are compared within
// blocks, so each block brings its own host as the measure.
//
// Runs whose samples cannot be compared are refused, with every reason: another
// plan, kernel, image, accelerator, memory or drive would be taken for noise,
// or worse, for a change. So are runs in virtual time: one plan gives the same
// samples again, which are no more evidence than they were.
func Merge(dirs []string) (*Report, error) {
	var all source
	seen := map[string]string{}
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			abs = real
		}
		if was, ok := seen[abs]; ok {
			return nil, fault.Planf("compare: %s and %s are one run: its samples would count twice", was, dir)
		}
		seen[abs] = dir
		s, err := open(dir)
		if err != nil {
			return nil, err
		}
		s.named(dir)
		if all.runs == nil {
			all = s
			continue
		}
		if why := differences(all.manifest, s.manifest); len(why) > 0 {
			return nil, &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("compare %s with %s: %w", dirs[0], dir, errors.Join(why...)),
				Hint: "runs of one plan file on hosts with the same accelerator can be merged; spindle reproduce makes such a run"}
		}
		if s.manifest.Machine.Accel == "virtual" {
			return nil, fault.Planf("compare: %s and %s are of one seed in virtual time: their samples are the same, and would count twice; for more of them raise repeat: in the plan", dirs[0], dir)
		}
		if same(all, s) {
			return nil, fault.Planf("compare: %s is a copy of an earlier run: its samples would count twice", dir)
		}
		all = all.with(s)
	}
	return &Report{analyse(all)}, nil
}

// named tells the runs' files apart.
func (s *source) named(dir string) {
	s.runs[0].name = filepath.ToSlash(filepath.Clean(dir))
	for at, p := range s.places {
		p.name = s.runs[0].name + "/" + p.name
		s.places[at] = p
	}
}

// same says whether a sample of one is a sample of the other.
func same(a, b source) bool {
	return slices.ContainsFunc(b.samples, func(x record.Sample) bool {
		return slices.ContainsFunc(a.samples, func(y record.Sample) bool {
			return x.Cell == y.Cell && x.Started.Equal(y.Started) && !x.Started.IsZero()
		})
	})
}

// with adds the blocks of another run.
func (s source) with(b source) source {
	shift := len(s.manifest.Blocks)
	s.manifest.Blocks = append(slices.Clone(s.manifest.Blocks), b.manifest.Blocks...)
	s.planned += b.planned
	s.runs = append(slices.Clone(s.runs), b.runs...)
	s.warnings = append(slices.Clone(s.warnings), b.warnings...)
	for _, x := range b.samples {
		p := b.places[spot{x.Block, x.Cell}]
		x.Block += shift
		s.places[spot{x.Block, x.Cell}] = p
		s.samples = append(s.samples, x)
	}
	for _, x := range b.attempts {
		x.Block += shift
		s.attempts = append(s.attempts, x)
	}
	return s
}

// differences gives the reasons why samples of two runs cannot be compared.
func differences(a, b record.Manifest) []error {
	var out []error
	if a.Plan.Hash != b.Plan.Hash {
		out = append(out, fmt.Errorf("the plans differ (%s and %s)", short(a.Plan.Hash), short(b.Plan.Hash)))
	}
	out = append(out, setupsDiffer(a, b)...)
	if x, y := armNamesOf(a), armNamesOf(b); x != y {
		out = append(out, fmt.Errorf("the arms differ: %v and %v", x, y))
	}
	out = append(out, kernelsDiffer(a, b)...)
	if a.Auto != nil || b.Auto != nil {
		out = append(out, errors.New("a run that repeats by itself stopped because of its samples: more of them cannot be added"))
	}
	return out
}

// setupsDiffer compares what samples of any kernel are made with: machine,
// image, drives.
func setupsDiffer(a, b record.Manifest) []error {
	var out []error
	add := func(what string, x, y any) {
		if !reflect.DeepEqual(x, y) {
			out = append(out, fmt.Errorf("%s differs: %v and %v", what, x, y))
		}
	}
	add("the accelerator", a.Machine.Accel, b.Machine.Accel)
	add("the version of QEMU", a.Machine.QEMU, b.Machine.QEMU)
	add("the guests' memory in bytes", a.Machine.MemoryBytes, b.Machine.MemoryBytes)
	add("the number of guest CPUs", a.Machine.CPUs, b.Machine.CPUs)
	add("the guests' CPU model", a.Machine.CPUModel, b.Machine.CPUModel)
	add("the guests' image", short(a.Image.Hash), short(b.Image.Hash))
	add("the program in the guests", short(a.Image.GuestHash), short(b.Image.GuestHash))
	add("the scale", a.Scale, b.Scale)
	add("what is compared", a.Compare, b.Compare)
	return append(out, drivesDiffer(a, b)...)
}

func armNamesOf(m record.Manifest) string {
	var out []string
	for _, a := range m.Arms {
		out = append(out, a.Name)
	}
	return strings.Join(out, ", ")
}

func kernelsDiffer(a, b record.Manifest) (out []error) {
	hash := map[string]string{}
	for _, k := range a.Kernels {
		hash[k.Name] = k.Hash
	}
	for _, k := range b.Kernels {
		if h, ok := hash[k.Name]; ok && h != k.Hash {
			out = append(out, fmt.Errorf("kernel %s differs: %s and %s", k.Name, short(h), short(k.Hash)))
		}
	}
	return out
}

// drivesDiffer compares the drives but for the time that answers leave early,
// which is gauged anew on each host.
func drivesDiffer(a, b record.Manifest) (out []error) {
	by := map[string]record.Drive{}
	for _, d := range a.Drives {
		d.Early = record.Early{}
		by[d.Name] = d
	}
	for _, d := range b.Drives {
		d.Early = record.Early{}
		was, ok := by[d.Name]
		if !ok || reflect.DeepEqual(was, d) {
			continue
		}
		what := "its parameters"
		for i, p := range d.Params {
			if i < len(was.Params) && was.Params[i] != p {
				what = fmt.Sprintf("%s is %s and %s", p.Name, was.Params[i].Text, p.Text)
				break
			}
		}
		if was.Model != d.Model {
			what = fmt.Sprintf("%q and %q", was.Model, d.Model)
		}
		out = append(out, fmt.Errorf("drive %s differs: %s", d.Name, what))
	}
	return out
}

// hosts gives the runs' hosts, those alike together.
func (a *analysis) hosts() []string {
	var out []string
	for _, r := range a.runs {
		h := r.manifest.Machine.Host
		if s := fmt.Sprintf("%s, Linux %s", h.CPU, h.Kernel); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, cmp.Compare)
	return out
}
