package machine

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"spindle/internal/fault"
)

// Reason is how a machine ended, or what a line of its console is about, in a
// word that outcomes are counted by.
type Reason string

// The kernel's faults.
const (
	Panic Reason = "panic" // the kernel said so, or told pvpanic
	Oops  Reason = "oops"  // the machine ended in another way after an oops or BUG
	Hang  Reason = "hang"  // QEMU runs it, and it gets nowhere
	Exit  Reason = "exit"  // it powered itself off or reset itself
)

// The machinery's faults.
const (
	Killed       Reason = "qemu-killed" // by a signal, or QEMU ended for no reason of the guest
	Refused      Reason = "qemu-start"  // QEMU would not start
	Unresponding Reason = "qemu-hung"   // QEMU itself answers nothing
	Paused       Reason = "qemu-paused" // somebody paused the guest
	Starved      Reason = "host-busy"   // the host gave the guest too little time to boot
	Fatal        Reason = "fatal"       // the guest's init gave up: "spindle: fatal: ..."
	SSHLost      Reason = "ssh-lost"    // the guest lives, its SSH server does not
	Emulator     Reason = "emulator"    // the emulated CPU was in a state that no CPU has
	DriveError   Reason = "drive-error" // a disk's server failed a request or went away
	LogFailed    Reason = "console-log" // console.log could not be written
	Stopped      Reason = "stopped"     // Stop or Close was called, or the context ended
)

// Findings that end no machine by themselves.
const (
	Warning     Reason = "warning"
	OutOfMemory Reason = "oom"
)

// Ending is how a machine ended.
type Ending struct {
	Reason Reason
	Kind   fault.Kind
	Detail string // one sentence or two, for people
	Line   int    // of console.log that tells of it, 0 if none does
	Tail   string // the console from that line on, or its end
	Hint   string // what to do next, where that is known

	// Findings are all signs of trouble on the console, in their order, also
	// those that the machine survived.
	Findings []Finding

	cause error // Stopped: why the context ended, nil if we were asked
}

// Err gives nil for a machine that ended because it was told to, and else a
// *fault.Error.
func (e Ending) Err() error {
	if e.Reason == Stopped && e.cause == nil {
		return nil
	}
	err := errors.New(e.Detail)
	if e.Line > 0 {
		err = fmt.Errorf("%s (console.log line %d)", e.Detail, e.Line)
	}
	if e.cause != nil {
		err = fmt.Errorf("%s: %w", e.Detail, e.cause)
	}
	return &fault.Error{Kind: e.Kind, Reason: string(e.Reason), Err: err, Tail: e.Tail, Hint: e.Hint}
}

// Bad gives the findings that speak against the kernel.
func (e Ending) Bad() (bad []Finding) {
	for _, f := range e.Findings {
		if f.Bad() {
			bad = append(bad, f)
		}
	}
	return bad
}

func kindOf(r Reason) fault.Kind {
	switch r {
	case Panic, Oops, Hang, Exit:
		return fault.Kernel
	}
	return fault.Machinery
}

// tailLines is how much console an error quotes.
const tailLines = 40

// excerpt gives up to tailLines lines of the log at path: from a few before
// line from on, or the last ones if from is 0.
func excerpt(path string, from int) string {
	const before = 5
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	var lines []string
	r := bufio.NewReaderSize(f, longestLine)
	for n := 1; ; n++ {
		line, more := r.ReadSlice('\n')
		text := clip(strings.TrimRight(string(line), "\n"))
		for more == bufio.ErrBufferFull { // the rest of a line that is too long to quote
			_, more = r.ReadSlice('\n')
		}
		if len(line) > 0 && (from == 0 || n >= from-before) {
			lines = append(lines, text)
		}
		if len(lines) > tailLines {
			if from != 0 {
				lines = lines[:tailLines]
				break
			}
			lines = lines[1:]
		}
		if more != nil {
			break
		}
	}
	return strings.Join(lines, "\n")
}

// clip keeps a line quotable.
func clip(line string) string {
	const most = 400
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(line[:most], "") + "..."
}
