package workloads

import (
	"errors"
	"strings"

	"spindle/internal/fault"
	"spindle/reports/record"
)

// ResultFile is where a job's result is, in Job.Dir.
const ResultFile = "result.json"

// Names of the raw files in Job.Dir, beside those of package sample. Which are
// there depends on the program and on how far the job came.
const (
	StdoutFile = "stdout"    // of the workload
	StderrFile = "stderr"    // of the workload
	SetupFile  = "setup.txt" // commands before the workload, with their output
	DmesgFile  = "dmesg.txt" // the kernel's log
)

// Result is what came of a Job. It is whole also when the workload failed: then
// Outcome says how, and what was not reached is empty.
type Result struct {
	Outcome  record.Outcome    `json:"outcome"`
	Phases   []record.Phase    `json:"phases"`
	Settings map[string]string `json:"settings,omitempty"` // read back before the workload
	Mkfs     string            `json:"mkfs,omitempty"`     // exact command line
	Mount    string            `json:"mount,omitempty"`    // exact command line
	Metrics  []record.Metric   `json:"metrics,omitempty"`
	CPUBusy  float64           `json:"cpu_busy"`           // share of the guest's CPUs during the workload, 0..1; waiting for I/O is idle
	Programs map[string]string `json:"programs,omitempty"` // name -> its package and version, or what it says itself
	Warnings []string          `json:"warnings,omitempty"`
}

// outcome turns an error into the way the sample ended.
func outcome(err error) record.Outcome {
	if err == nil {
		return record.Outcome{Kind: record.OK}
	}
	o := record.Outcome{Kind: record.Machinery, Reason: fault.Reason(err)}
	if fault.Of(err) == fault.Kernel {
		o.Kind = record.KernelFault
	}
	if o.Reason == "" {
		o.Reason = "job"
	}
	hint := fault.Hint(err)
	// The reason is told apart; the rest is the detail.
	var f *fault.Error
	if errors.As(err, &f) && error(f) == err && f.Err != nil {
		err = f.Err
	}
	o.Detail = oneLine(err.Error())
	if hint != "" {
		o.Detail += "; " + hint
	}
	return o
}

// oneLine puts a message of many lines on one.
func oneLine(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || b.Len() == 0:
		case strings.HasSuffix(b.String(), ":"):
			b.WriteString(" ")
		default:
			b.WriteString(" | ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// tailOf gives the end of a text, at most n bytes, for messages.
func tailOf(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		s = "..." + strings.ToValidUTF8(s[len(s)-n:], "")
	}
	return s
}
