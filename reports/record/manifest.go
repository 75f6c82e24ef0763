package record

import "time"

// Format is the number of the on-disk form this package writes. Additions
// that an older reader may ignore do not change it.
const Format = 1

// Manifest is everything needed to do a run again. It is written before the
// first guest boots and does not change afterwards.
type Manifest struct {
	Format  int       `json:"format"`
	Name    string    `json:"name"`    // of the plan
	Spindle string    `json:"spindle"` // version that made the run
	Command []string  `json:"command"` // argv, as given
	Started time.Time `json:"started"`
	Seed    uint64    `json:"seed"` // orders the blocks and seeds the drive models
	Plan    Plan      `json:"plan"`

	// Compare is the axis of the plan whose values are the arms: "arm", or
	// one of "drive", "filesystem", "scheduler", "workload". Any axis but
	// "arm" is then empty in every Condition.
	Compare string `json:"compare"`
	// Scale is the plan's scale ("1/8"), empty for full size.
	Scale string `json:"scale,omitempty"`

	Arms       []Arm       `json:"arms"`       // the first is the baseline
	Conditions []Condition `json:"conditions"` // in the order of the report
	// Blocks is the layout: Blocks[0] is block 1, in the order its cells
	// are to run. Every block holds every arm under every condition once.
	Blocks [][]Cell `json:"blocks"`
	// Auto is there for a run that stops by itself once it has decided; Blocks
	// then holds as many as it may make.
	Auto *Auto `json:"auto,omitempty"`

	Kernels     []Kernel     `json:"kernels"`
	Image       Image        `json:"image"`
	Machine     Machine      `json:"machine"`
	Drives      []Drive      `json:"drives"`
	Filesystems []Filesystem `json:"filesystems"`
	Workloads   []Workload   `json:"workloads"`
}

// Auto is the budget of a run that repeats until it has decided.
type Auto struct {
	Most    int     `json:"most"`              // blocks
	Seconds float64 `json:"seconds,omitempty"` // of wall time; 0 for no limit
	See     float64 `json:"see"`               // change that "no change" must be able to see, as a share
}

// Plan is the plan file a run was made from.
type Plan struct {
	Path string `json:"path"` // as given on the command line
	Hash string `json:"hash"` // sha256 of Text, hex; Create fills it
	Text string `json:"text"` // verbatim
}

// Arm is one side of the comparison.
type Arm struct {
	Name   string            `json:"name"`
	Kernel string            `json:"kernel"` // name of a Kernel of the manifest
	Sysctl map[string]string `json:"sysctl,omitempty"`
	Queue  map[string]string `json:"queue,omitempty"`  // /sys/block/X/queue
	Device map[string]string `json:"device,omitempty"` // /sys/block/X/device
	Append string            `json:"append,omitempty"` // added to the kernel command line
	Mkfs   []string          `json:"mkfs,omitempty"`   // options added for this arm
	Mount  []string          `json:"mount,omitempty"`  // options added for this arm
	// Control says that the arm was added to be the baseline once more.
	Control bool `json:"control,omitempty"`
}

// Kernel is one kernel under test.
type Kernel struct {
	Name       string `json:"name"`             // in the plan
	Source     string `json:"source"`           // as resolved: linux-image-6.12.57+deb13-amd64=6.12.57-1
	Version    string `json:"version"`          // uname -r
	Hash       string `json:"hash"`             // sha256 over image, modules and config
	ConfigHash string `json:"config,omitempty"` // sha256 of the config, empty if unknown
}

// Image is the guests' root filesystem.
type Image struct {
	Suite     string            `json:"suite"`
	Hash      string            `json:"hash"`
	Snapshot  string            `json:"snapshot,omitempty"` // of the archive
	Packages  map[string]string `json:"packages"`           // name -> version
	GuestHash string            `json:"guest"`              // sha256 of spindle-guest
}

// Machine is the emulated machine and the host that carried it.
type Machine struct {
	QEMU        string `json:"qemu"`  // version
	Accel       string `json:"accel"` // "kvm", "tcg"
	AccelWhy    string `json:"accel_why,omitempty"`
	CPUs        int    `json:"cpus"`
	CPUModel    string `json:"cpu_model"`
	MemoryBytes int64  `json:"memory_bytes"`
	Append      string `json:"append,omitempty"` // kernel command line
	Host        Host   `json:"host"`
}

// Host is the machine that QEMU ran on.
type Host struct {
	CPU         string `json:"cpu"`
	CPUs        int    `json:"cpus"`
	MemoryBytes int64  `json:"memory_bytes"`
	Kernel      string `json:"kernel"` // uname -r
	OS          string `json:"os"`     // PRETTY_NAME of os-release
}

// Drive is one drive of the plan with every parameter of its model.
type Drive struct {
	Name       string  `json:"name"`
	Profile    string  `json:"profile"`
	Bus        string  `json:"bus"`
	QueueDepth int     `json:"queue_depth"`
	SizeBytes  int64   `json:"size_bytes"`
	Model      string  `json:"model"` // one line for the report
	Params     []Param `json:"params"`
	// Early is how much before it was due each answer left, to make up for what
	// the guest takes to notice it. Zero in virtual time.
	Early Early `json:"early,omitzero"`
}

// Early is how much before they were due answers left: to requests of 4 KiB, and
// to those of 64 KiB. The others were on the line through both.
type Early struct {
	ReadSeconds       float64 `json:"read_s"`
	ReadLargeSeconds  float64 `json:"read_64k_s"`
	WriteSeconds      float64 `json:"write_s"`
	WriteLargeSeconds float64 `json:"write_64k_s"`
}

// Param is one parameter of a drive model. Text is what a person reads;
// Value is the number in Unit, where the parameter is a number.
type Param struct {
	Name  string  `json:"name"`
	Text  string  `json:"text"`
	Value float64 `json:"value,omitempty"`
	Unit  string  `json:"unit,omitempty"`
}

// Filesystem is how one filesystem of the plan is made and mounted. The
// exact command lines are in each Sample.
type Filesystem struct {
	Name  string   `json:"name"`
	Mkfs  []string `json:"mkfs,omitempty"`
	Mount []string `json:"mount,omitempty"`
}

// Workload is one workload of the plan.
type Workload struct {
	Name    string       `json:"name"`  // as in Condition.Workload
	Title   string       `json:"title"` // "dd 96 MiB conv=fsync"
	Metrics []MetricInfo `json:"metrics"`
	// Untraced is the workload that is this one without tracing, if this one is
	// traced: what the two are apart is what tracing costs.
	Untraced string `json:"untraced,omitempty"`
	// Clients is how many processes ask the drive at the same time, and Alike
	// the same text for all workloads that differ in that alone; 0 and "" where
	// a workload has no such number.
	Clients int    `json:"clients,omitempty"`
	Alike   string `json:"alike,omitempty"`
}

// Condition is what is held equal while arms are compared. An axis that is
// the compared one is empty.
type Condition struct {
	Drive      string `json:"drive,omitempty"`
	Filesystem string `json:"filesystem,omitempty"`
	Scheduler  string `json:"scheduler,omitempty"`
	Workload   string `json:"workload,omitempty"`
	// Setup is the arm, or what it sets, where a reader compares another axis
	// than the run's arms. No run directory has it.
	Setup string `json:"-"`
}

// Cell is one arm under one condition.
type Cell struct {
	Arm       string    `json:"arm"`
	Condition Condition `json:"condition"`
}
