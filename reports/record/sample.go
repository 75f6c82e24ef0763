package record

import "time"

// Names of raw files in a sample's directory that readers of a run know.
const (
	ConsoleLog = "console.log"     // the guest's serial console
	Diskstats  = "diskstats.jsonl" // /proc/diskstats over time
	Vmstat     = "vmstat.jsonl"    // /proc/vmstat over time

	Stalls    = "stalls.jsonl"   // operations that stalled, one a line
	Bursts    = "bursts.json"    // write storms that come again and again, by series
	Extents   = "extents.json"   // in how many pieces the workload's files lie on the drive
	Writeback = "writeback.json" // what writeback did, worked out of a trace

	FsyncTester = "fsync-tester.json" // every latency of the workload of that name
)

// Direction says which way a metric is better.
type Direction string

// The two directions.
const (
	Lower  Direction = "lower"  // less is better
	Higher Direction = "higher" // more is better
)

// MetricInfo names a number that a workload reports.
type MetricInfo struct {
	Name      string    `json:"name"` // "runtime", "throughput", "fsync p99"
	Unit      string    `json:"unit"` // "s", "B/s", "1/s", "1" for a bare number
	Direction Direction `json:"direction"`
	Primary   bool      `json:"primary,omitempty"` // the verdict's headline metric of its workload
	// Resolution is the step to which the value is measured, in Unit; 0 if
	// unknown, or exact as a count is. A spread below it is not evidence of a
	// quiet system.
	Resolution float64 `json:"resolution,omitempty"`
}

// Metric is one value of a sample.
type Metric struct {
	MetricInfo
	Value float64 `json:"value"` // in Unit; finite
	// Limited says that the run was stopped at a limit: the true value is this
	// or worse.
	Limited bool `json:"limited,omitempty"`
}

// Phase is a named part of a sample's wall time.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Kinds of outcome.
const (
	OK          = "ok"        // the workload ran to its end
	KernelFault = "kernel"    // the kernel under test broke: panic, hang, oops, failed mkfs
	Machinery   = "machinery" // our own failure: retried, never counted
)

// Outcome is how a sample ended. Log and Line point to the evidence.
type Outcome struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason,omitempty"` // "panic", "hang", "oops", "mkfs", ...
	Detail string `json:"detail,omitempty"` // one line for the report
	Log    string `json:"log,omitempty"`    // file in the sample's directory
	Line   int    `json:"line,omitempty"`   // counted from 1
}

// Sample is one run of a cell: one fresh boot, one fresh mkfs.
type Sample struct {
	Block int `json:"block"` // counted from 1
	Cell
	Attempt int       `json:"attempt"` // counted from 1
	Started time.Time `json:"started"`
	Outcome Outcome   `json:"outcome"`

	Metrics  []Metric          `json:"metrics,omitempty"`
	Settings map[string]string `json:"settings,omitempty"` // read back in the guest
	Programs map[string]string `json:"programs,omitempty"` // name -> version
	Mkfs     string            `json:"mkfs,omitempty"`     // exact command line
	Mount    string            `json:"mount,omitempty"`    // exact command line
	Warnings []string          `json:"warnings,omitempty"`

	Phases          []Phase `json:"phases,omitempty"`
	BootSeconds     float64 `json:"boot_seconds"`
	SetupSeconds    float64 `json:"setup_seconds"`
	WorkloadSeconds float64 `json:"workload_seconds"`
	TotalSeconds    float64 `json:"total_seconds"`

	// Files are the sha256 of the raw files, by their paths in the sample's
	// directory. Commit fills it in.
	Files map[string]string `json:"files,omitempty"`

	Accel   string     `json:"accel"`
	CPUBusy float64    `json:"cpu_busy"` // share of the guest's CPUs busy during the workload, 0..1
	Drive   DriveStats `json:"drive"`
	Host    HostNoise  `json:"host"`
	// Virtual is there for a sample in virtual time; the seconds of the fields
	// above, but for TotalSeconds, are virtual ones then.
	Virtual *Virtual `json:"virtual,omitempty"`
}

// Virtual is what a sample in virtual time was.
type Virtual struct {
	Seconds     float64 `json:"seconds"`      // of the guest's time, from its first instruction to its last
	WallSeconds float64 `json:"wall_seconds"` // that they took the host
	Requests    int64   `json:"requests"`     // to the drive, set-up included
	Trace       string  `json:"trace"`        // sha256 over all of them with their times: equal for runs that are equal
	Turns       int64   `json:"turns"`        // between guest and drive
	Spins       int     `json:"spins"`        // times that a program's computing was cut short: not reproducible then
	// SameAgain says that the sample was made twice, and came out the same.
	SameAgain bool `json:"same_again,omitempty"`
}

// DriveStats is what the drive model did during the timed part. Lateness is
// how long after its due time a reply left, in seconds.
type DriveStats struct {
	Requests      int64   `json:"requests"`
	Reads         int64   `json:"reads"`
	Writes        int64   `json:"writes"`
	Flushes       int64   `json:"flushes"`
	ReadBytes     int64   `json:"read_bytes"`
	WriteBytes    int64   `json:"write_bytes"`
	MaxDepth      int     `json:"max_depth"` // most requests in flight at once
	LatenessP50   float64 `json:"lateness_p50_seconds"`
	LatenessP99   float64 `json:"lateness_p99_seconds"`
	LatenessMax   float64 `json:"lateness_max_seconds"`
	ModelErrorRel float64 `json:"model_error"` // mean lateness / mean service time

	// Faults are those that the plan gave the drive, with what they did.
	Faults []string `json:"faults,omitempty"`
}

// HostNoise is what else the host did during the sample. The pressures are
// the share of wall time (0..1) in which some task waited, from
// /proc/pressure.
type HostNoise struct {
	Load1          float64 `json:"load1"` // at the start
	Steal          float64 `json:"steal"` // share of CPU time stolen by a hypervisor, 0..1
	PressureCPU    float64 `json:"pressure_cpu"`
	PressureIO     float64 `json:"pressure_io"`
	PressureMemory float64 `json:"pressure_memory"`
}
