package workloads

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// alarms are what the kernel writes to its log when something is wrong that
// need not end a workload. They stand at the beginning of a message, so that
// "Spectre V2 : WARNING" of every boot is none.
var alarms = regexp.MustCompile(`^(` + strings.Join([]string{
	`BUG: `, `watchdog: BUG: `, `WARNING: `, `Oops[:\[ ]`, `general protection fault`, `kernel BUG at `,
	`INFO: task .* blocked for more than`, `INFO: rcu_.* (self-)?detected stall`, `rcu: INFO: rcu_.* (self-)?detected stall`,
	`Out of memory: `, `.* invoked oom-killer`,
	`(blk_update_request: )?([a-z/ ]*I/O|critical [a-z]+) error, dev `, `Buffer I/O error `, `ata[0-9.]+: exception `, `sd .* FAILED Result:`,
	`EXT4-fs error `, `JBD2: .*(error|Error)`, `XFS \(.*\): .*([Cc]orrupt|[Ss]hutdown|[Ee]rror)`, `BTRFS (error|critical)`, `F2FS-fs \(.*\): .*(error|inconsistent|corrupt)`,
}, "|") + `)`)

// mostWarnings is how many of the kernel's lines a result repeats; all of them
// are in its log.
const mostWarnings = 20

// prefix is what stands before a message: "<6>[    1.234567] ", and with some
// configurations the CPU or task as "[    T1] ".
var prefix = regexp.MustCompile(`^(<[0-9]+>)?(\[ *[0-9]+\.[0-9]+\])?(\[ *[CT][0-9]+\])? *`)

// alarmsIn gives the lines of a kernel log that are alarms, and the number of the
// first one, counted from 1 (0 if there is none).
func alarmsIn(log string) (lines []string, first int) {
	n := 0
	for line := range strings.Lines(log) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if !alarms.MatchString(line[len(prefix.FindString(line)):]) {
			continue
		}
		if first == 0 {
			first = n
		}
		lines = append(lines, strings.ToValidUTF8(line, "?"))
	}
	return lines, first
}

// kernelSaid gives the kernel's last message about the file system or the drive
// that was not in its log before, or "".
func (r *run) kernelSaid(before string) string {
	log, err := r.sys.Kmsg()
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimPrefix(log, before), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		said := lines[i][len(prefix.FindString(lines[i])):]
		if strings.Contains(strings.ToLower(said), r.job.Filesystem) || strings.Contains(said, r.drive.Name) {
			return strings.ToValidUTF8(said, "?")
		}
	}
	return ""
}

// keepLog writes the kernel's log beside the other raw files and adds its
// alarms to the warnings.
func (r *run) keepLog() error {
	log, err := r.sys.Kmsg()
	if err != nil {
		return fmt.Errorf("read kernel log: %w", err)
	}
	if err := os.WriteFile(r.out(DmesgFile), []byte(log), 0o600); err != nil {
		return err
	}
	lines, first := alarmsIn(log)
	for i, l := range lines {
		if i == mostWarnings {
			r.warn("kernel log: %d more lines in %s", len(lines)-i, DmesgFile)
			break
		}
		r.warn("kernel log: %s", l)
	}
	if o := &r.result.Outcome; o.Log == DmesgFile && o.Line == 0 {
		o.Line = max(first, blockedLine(log))
	}
	return nil
}

// blockedLine gives the number of the line where a list of blocked tasks that we
// asked for begins, or 0.
func blockedLine(log string) int {
	at := strings.LastIndex(log, "Show Blocked State")
	if at < 0 {
		return 0
	}
	return 1 + strings.Count(log[:at], "\n")
}
