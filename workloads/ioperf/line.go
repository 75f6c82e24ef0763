package ioperf

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Line is what the original prints of one process after so many operations.
type Line struct {
	Op  string // read, wal or commit
	PID int
	// Printed is the average as it stands there; Average is the true one, for
	// log and commits ten and twenty times as much. It is as coarse as a tenth
	// of a millisecond times that.
	Printed, Average, Max time.Duration
}

var lineForm = regexp.MustCompile(`^(read|wal|commit)\[([0-9]{1,9})\]: avg: ([0-9]{1,9}\.[0-9]) msec; max: ([0-9]{1,9}\.[0-9]) msec$`)

// ParseLines reads the lines of the original's output, or of a mail that quotes
// it. Other lines are left out.
func ParseLines(text string) []Line {
	intervals := map[string]int{readOp: readInterval, walOp: walInterval, commitOp: commitInterval}
	ms := func(s string) time.Duration {
		v, _ := strconv.ParseFloat(s, 64) // of the form's digits
		return time.Duration(v*1e3+0.5) * time.Microsecond
	}
	var all []Line
	for line := range strings.Lines(text) {
		m := lineForm.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		l := Line{Op: m[1], Printed: ms(m[3]), Max: ms(m[4])}
		l.PID, _ = strconv.Atoi(m[2])
		l.Average = l.Printed * time.Duration(readInterval/intervals[l.Op])
		all = append(all, l)
	}
	return all
}
