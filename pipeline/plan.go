package pipeline

import (
	"reflect"
	"strings"

	"spindle/images"
	"spindle/internal/debian"
	"spindle/internal/fault"
	"spindle/internal/unit"
	"spindle/kernels"
	"spindle/pipeline/drive"
	"spindle/workloads"
)

// Plan is what a person asks for: which arms are compared, under which
// conditions, how often, and on what machine. [Load] makes it; what the file
// leaves out has its default here, so a Plan is read without looking at the
// file again.
//
// Each room owns its part: what a kernel, a drive or a workload may say is in
// kernels.Source, drive.Spec and workloads.Spec.
type Plan struct {
	Name       string                    `yaml:"name"`
	Kernels    map[string]kernels.Source `yaml:"kernels"`
	Debian     debian.Archive            `yaml:"debian"`
	Image      images.Spec               `yaml:"image"`
	Machine    Machine                   `yaml:"machine"`
	Drives     map[string]drive.Spec     `yaml:"drives"`
	Arms       Arms                      `yaml:"arms"` // in the order of the file; the first is the baseline
	Conditions Conditions                `yaml:"conditions"`
	Workloads  []workloads.Spec          `yaml:"workloads"`
	Mkfs       map[string]MkfsOptions    `yaml:"mkfs"`   // filesystem -> options
	Mount      map[string]MountOptions   `yaml:"mount"`  // filesystem -> options
	Scale      Scale                     `yaml:"scale"`  // of memory, files and caches; 0 is 1
	Repeat     int                       `yaml:"repeat"` // blocks; with Auto the most there may be
	Budget     Budget                    `yaml:"budget"` // of repeat: auto
	Seed       uint64                    `yaml:"seed"`   // of the layout and the drive models
	Limit      unit.Duration             `yaml:"limit"`  // of one sample; 0 derives it: see SampleLimit

	File string `yaml:"-"` // as given to Load
	Text string `yaml:"-"` // verbatim
	Auto bool   `yaml:"-"` // repeat: auto

	source  *source
	root    *node
	control string // the arm that AddControl made
}

// Machine is the emulated machine of every sample.
type Machine struct {
	Memory    unit.Size     `yaml:"memory"` // default 1 GiB
	CPUs      int           `yaml:"cpus"`   // default 1
	Time      string        `yaml:"time"`   // real or virtual; default real
	Accel     string        `yaml:"accel"`  // auto, kvm or tcg; default auto
	BootLimit unit.Duration `yaml:"boot-limit"`
	Libvirt   string        `yaml:"libvirt"` // URI of the daemon that runs QEMU; "" is none
}

// Conditions are the axes that are held equal while arms are compared; the
// workloads are the fourth.
type Conditions struct {
	Drive      []string `yaml:"drive"` // default all drives, in the order of the file
	Filesystem []string `yaml:"filesystem"`
	Scheduler  []string `yaml:"scheduler"`
}

// Defaults of a plan.
const (
	defaultRepeat    = 3
	defaultSeed      = 1
	defaultMemory    = unit.GiB
	defaultCPUs      = 1
	defaultAccel     = "auto"
	defaultBootLimit = unit.Duration(120e9) // a boot under TCG takes 10 to 30 s on a busy host
)

// Load reads a plan. The file's name is used in messages and kept in the
// plan; nothing is read from it.
//
// The error, if any, is the plan's fault ([fault.Plan]) and holds [Problems]:
// as many as could be told apart, each with its place. A plan without error
// can be laid out; whether its kernels can do what it asks is a second
// question, for [Plan.CheckKernels].
func Load(file string, text []byte) (*Plan, error) {
	s := &source{file: file}
	p := &Plan{
		Machine: Machine{Memory: defaultMemory, CPUs: defaultCPUs, Time: realTime, Accel: defaultAccel, BootLimit: defaultBootLimit},
		Repeat:  defaultRepeat,
		Seed:    defaultSeed,
		File:    file,
		Text:    string(text),
		source:  s,
	}
	if p.root = s.read(text); p.root != nil {
		d := decoder{s}
		p.Auto = takeAuto(p.root)
		d.fields(p.root, reflect.ValueOf(p).Elem())
		c := checker{source: s, plan: p, root: p.root}
		c.plan.defaultDrives()
		c.plan.virtualDrives()
		c.shrink()
		c.check()
	}
	if err := s.err(); err != nil {
		return nil, err
	}
	p.untraced()
	return p, p.fillDrives()
}

// err gives the problems found as one error, or nil.
func (s *source) err() error {
	if len(s.problems) == 0 {
		return nil
	}
	s.problems.sort()
	return &fault.Error{Kind: fault.Plan, Err: s.problems}
}

// defaultDrives makes the drive axis of a plan that names none.
func (p *Plan) defaultDrives() {
	if p.root.get("conditions", "drive") != nil || p.root.get("drives") == nil {
		return
	}
	for _, f := range p.root.get("drives").fields {
		p.Conditions.Drive = append(p.Conditions.Drive, f.key.text)
	}
}

// fillDrives writes the defaults of the drives' profiles into them.
func (p *Plan) fillDrives() error {
	for name, d := range p.Drives {
		dev, err := d.Members()[0].Device() // those of an array are alike
		if err != nil {
			return err // Validate said that it is fine
		}
		if d.OfHost() { // the host knows the rest
			d.Bus = dev.Bus
			p.Drives[name] = d
			continue
		}
		d.Bus, d.QueueDepth, d.Size, d.WriteCache = dev.Bus, dev.QueueDepth, dev.Size, "off"
		if dev.WriteCache {
			d.WriteCache = "on"
		}
		p.Drives[name] = d
	}
	return nil
}

// MkfsOptions gives the words to put behind mkfs for a filesystem.
func (p *Plan) MkfsOptions(filesystem string) []string {
	return p.Mkfs[filesystem]
}

// MountOptions gives the mount options of a filesystem in an arm: the
// filesystem's, then the arm's, which win where the kernel lets the last win.
func (p *Plan) MountOptions(filesystem string, arm *Arm) []string {
	options := append([]string(nil), p.Mount[filesystem]...)
	return append(options, arm.Mount...)
}

// Arm finds an arm by name; nil if there is none.
func (p *Plan) Arm(name string) *Arm {
	for i := range p.Arms {
		if p.Arms[i].Name == name {
			return &p.Arms[i]
		}
	}
	return nil
}

// Workload finds a workload by the name that conditions use.
func (p *Plan) Workload(name string) (workloads.Spec, bool) {
	for _, w := range p.Workloads {
		if w.Slug() == name {
			return w, true
		}
	}
	return workloads.Spec{}, false
}

func splitPath(pattern string) []string { return strings.Split(pattern, ".") }
