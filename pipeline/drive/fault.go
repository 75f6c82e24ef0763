package drive

import (
	"errors"
	"fmt"
	"time"

	"spindle/internal/unit"
)

// Fault is one thing that a drive does wrong. Exactly one of its fields is
// there. Times count from when the drive's timing starts; while a guest is set
// up the drive is healthy.
type Fault struct {
	Spike    *Spike    `yaml:"spike,omitempty"`
	Stall    *Stall    `yaml:"stall,omitempty"`
	EIO      *EIO      `yaml:"eio,omitempty"`
	ReadOnly *ReadOnly `yaml:"read-only,omitempty"`
	PowerCut *PowerCut `yaml:"power-cut,omitempty"`
}

// Spike makes single requests slow: every Every-th, or the first that comes at
// At or later.
type Spike struct {
	Every int64         `yaml:"every,omitempty"`
	At    unit.Duration `yaml:"at,omitempty"`
	Delay unit.Duration `yaml:"delay"` // added to what the request takes
}

// Stall makes the drive answer nothing from At on for For. What it does inside
// goes on.
type Stall struct {
	At  unit.Duration `yaml:"at"`
	For unit.Duration `yaml:"for"`
}

// EIO is a bad stretch of the media: requests that touch it fail.
type EIO struct {
	From   unit.Size `yaml:"from"`
	Length unit.Size `yaml:"length"`
	On     string    `yaml:"on,omitempty"` // read, write, or "" for both
}

// ReadOnly makes the drive refuse writes after it has taken that many, as
// solid-state drives do at the end of their life.
type ReadOnly struct {
	AfterWrites int64 `yaml:"after-writes"`
}

// PowerCut takes the drive's power away: what only a volatile cache holds is
// lost, and every request from then on fails. The content that stays is what a
// machine would find when the power is back.
type PowerCut struct {
	At unit.Duration `yaml:"at"`
}

// String names the fault in one line: "eio: 1MiB at 4GiB, reads".
func (f Fault) String() string {
	switch {
	case f.Spike != nil && f.Spike.Every > 0:
		return fmt.Sprintf("spike: %s more for 1 request in %d", f.Spike.Delay, f.Spike.Every)
	case f.Spike != nil:
		return fmt.Sprintf("spike: %s more for one request at %s", f.Spike.Delay, f.Spike.At)
	case f.Stall != nil:
		return fmt.Sprintf("stall: no answer for %s at %s", f.Stall.For, f.Stall.At)
	case f.EIO != nil:
		on := map[string]string{"": "reads and writes", "read": "reads", "write": "writes"}[f.EIO.On]
		return fmt.Sprintf("eio: %s at %s, %s", f.EIO.Length, f.EIO.From, on)
	case f.ReadOnly != nil:
		return fmt.Sprintf("read-only: after %d writes", f.ReadOnly.AfterWrites)
	case f.PowerCut != nil:
		return fmt.Sprintf("power-cut: at %s", f.PowerCut.At)
	}
	return "no fault"
}

// maxFault bounds delays: the guest gives up after half a minute, and a test
// should end.
const maxFault = unit.Duration(time.Hour)

// validate checks f for a drive of that size.
func (f Fault) validate(size unit.Size) error {
	kinds := 0
	for _, there := range []bool{f.Spike != nil, f.Stall != nil, f.EIO != nil, f.ReadOnly != nil, f.PowerCut != nil} {
		if there {
			kinds++
		}
	}
	if kinds != 1 {
		return errors.New("needs exactly one of spike, stall, eio, read-only and power-cut")
	}
	switch s, t, e := f.Spike, f.Stall, f.EIO; {
	case s != nil && (s.Every != 0) == (s.At != 0):
		return errors.New("spike: needs one of every and at")
	case s != nil && s.Every < 0:
		return fmt.Errorf("spike: every %d: negative", s.Every)
	case s != nil && (s.Delay <= 0 || s.Delay > maxFault):
		return fmt.Errorf("spike: delay %s: not positive and up to an hour", s.Delay)
	case t != nil && (t.For <= 0 || t.For > maxFault):
		return fmt.Errorf("stall: for %s: not positive and up to an hour", t.For)
	case e != nil && (e.Length <= 0 || e.From < 0 || e.From > size-e.Length):
		return fmt.Errorf("eio: %s at %s: not within the %s of the drive", e.Length, e.From, size)
	case e != nil && e.On != "" && e.On != "read" && e.On != "write":
		return fmt.Errorf("eio: on %q: not read or write", e.On)
	case f.ReadOnly != nil && f.ReadOnly.AfterWrites < 0:
		return fmt.Errorf("read-only: after-writes %d: negative", f.ReadOnly.AfterWrites)
	case f.PowerCut != nil && f.PowerCut.At <= 0:
		return errors.New("power-cut: at: missing")
	}
	return nil
}
