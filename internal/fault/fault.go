// Package fault tells whose fault a failure is: the plan's, the kernel's under
// test, or the machinery's that tests it.
//
// The kind decides what becomes of a sample. A fault of the plan ends the
// command before anything starts. A fault of the kernel (a panic, a hang, a
// failed mkfs) is a result and goes into the report. A fault of the machinery
// (QEMU missing, disk full, drive model late) is retried on a fresh guest and
// never becomes a verdict. An error that nobody marked is the machinery's: to
// blame a kernel takes evidence.
//
// The lowest place that knows the kind marks the error, and the places above
// wrap it with %w. Where an error is marked twice the outer mark holds, so a
// caller that learns more (the connection was lost because the guest
// panicked) can say so.
package fault

import (
	"errors"
	"fmt"
)

// Kind is whose fault a failure is.
type Kind int

const (
	Machinery Kind = iota // ours: retried, never a verdict
	Plan                  // the plan's: nothing was started
	Kernel                // the kernel's under test: an outcome in the report
)

// String gives the word that records and reports use.
func (k Kind) String() string {
	switch k {
	case Machinery:
		return "machinery"
	case Plan:
		return "plan"
	case Kernel:
		return "kernel"
	}
	return fmt.Sprintf("fault.Kind(%d)", int(k))
}

// Error is a failure whose kind is known.
type Error struct {
	Kind   Kind
	Reason string // one word for counting: "panic", "hang", "oops", "mkfs", "ssh-lost", ...
	Err    error  // what happened
	Tail   string // evidence, for example the end of the guest's console; may have many lines
	Hint   string // what to do next, one sentence, where that is known
}

// Error gives "reason: cause". Tail and Hint are left to whoever prints the
// error: see [Tail] and [Hint].
func (e *Error) Error() string {
	switch {
	case e.Err == nil && e.Reason == "":
		return e.Kind.String() + " fault"
	case e.Err == nil:
		return e.Reason
	case e.Reason == "":
		return e.Err.Error()
	}
	return e.Reason + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// New marks err. The reason is one word that outcomes are counted by.
func New(kind Kind, reason string, err error) *Error {
	return &Error{Kind: kind, Reason: reason, Err: err}
}

// Planf makes an error of the plan; the format may use %w.
func Planf(format string, args ...any) error {
	return &Error{Kind: Plan, Err: fmt.Errorf(format, args...)}
}

// Kernelf makes an error of the kernel under test; the format may use %w.
func Kernelf(format string, args ...any) error {
	return &Error{Kind: Kernel, Err: fmt.Errorf(format, args...)}
}

// Machineryf makes an error of the machinery; the format may use %w. It is
// needed only to overrule a mark further down: unmarked errors are machinery's.
func Machineryf(format string, args ...any) error {
	return &Error{Kind: Machinery, Err: fmt.Errorf(format, args...)}
}

// Of gives the kind of err: that of the outermost mark in its chain, or
// Machinery where there is none. In an [errors.Join] the first marked error
// counts.
func Of(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Machinery
}

// Reason gives the outermost reason in err's chain, or "".
func Reason(err error) string { return first(err, func(e *Error) string { return e.Reason }) }

// Hint gives the outermost hint in err's chain, or "".
func Hint(err error) string { return first(err, func(e *Error) string { return e.Hint }) }

// Tail gives the outermost evidence in err's chain, or "".
func Tail(err error) string { return first(err, func(e *Error) string { return e.Tail }) }

// first walks the marked errors from the outside in, until one has the text.
func first(err error, text func(*Error) string) string {
	var e *Error
	for errors.As(err, &e) {
		if s := text(e); s != "" {
			return s
		}
		err = e.Err
	}
	return ""
}
