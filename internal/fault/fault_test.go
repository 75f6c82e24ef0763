package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"spindle/internal/fault"
)

func TestKind(t *testing.T) {
	panicked := &fault.Error{Kind: fault.Kernel, Reason: "panic", Err: io.EOF, Tail: "end", Hint: "read console.log"}
	for _, test := range []struct {
		name   string
		err    error
		kind   fault.Kind
		reason string
		text   string
	}{
		{"none", nil, fault.Machinery, "", ""},
		{"unmarked", io.EOF, fault.Machinery, "", "EOF"},
		{"plan", fault.Planf("drive %s: no such profile", "x"), fault.Plan, "", "drive x: no such profile"},
		{"kernel", fault.Kernelf("run dd: %w", io.EOF), fault.Kernel, "", "run dd: EOF"},
		{"machinery", fault.Machineryf("late"), fault.Machinery, "", "late"},
		{"marked", panicked, fault.Kernel, "panic", "panic: EOF"},
		{"wrapped", fmt.Errorf("block 2: %w", panicked), fault.Kernel, "panic", "block 2: panic: EOF"},
		{"joined", errors.Join(io.EOF, panicked), fault.Kernel, "panic", "EOF\npanic: EOF"},
		{"outer mark holds", fault.New(fault.Machinery, "drive-late", panicked), fault.Machinery, "drive-late", "drive-late: panic: EOF"},
		{"outer mark without reason", fault.Machineryf("sample: %w", panicked), fault.Machinery, "panic", "sample: panic: EOF"},
		{"reason alone", fault.New(fault.Kernel, "hang", nil), fault.Kernel, "hang", "hang"},
		{"nothing", &fault.Error{}, fault.Machinery, "", "machinery fault"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := fault.Of(test.err); got != test.kind {
				t.Errorf("Of = %v, want %v", got, test.kind)
			}
			if got := fault.Reason(test.err); got != test.reason {
				t.Errorf("Reason = %q, want %q", got, test.reason)
			}
			if test.err != nil && test.err.Error() != test.text {
				t.Errorf("Error = %q, want %q", test.err, test.text)
			}
		})
	}
}

func TestHintAndTailComeThrough(t *testing.T) {
	inner := &fault.Error{Kind: fault.Kernel, Reason: "oops", Err: io.EOF, Tail: "BUG: ...", Hint: "look at line 412"}
	err := fmt.Errorf("sample: %w", fault.New(fault.Kernel, "", fmt.Errorf("boot: %w", inner)))
	if got := fault.Hint(err); got != inner.Hint {
		t.Errorf("Hint = %q", got)
	}
	if got := fault.Tail(err); got != inner.Tail {
		t.Errorf("Tail = %q", got)
	}
	if !errors.Is(err, io.EOF) {
		t.Error("the cause is lost")
	}
	if got := fault.Hint(io.EOF) + fault.Tail(nil); got != "" {
		t.Errorf("hint or tail from nowhere: %q", got)
	}
}

func TestKindString(t *testing.T) {
	for kind, want := range map[fault.Kind]string{
		fault.Machinery: "machinery", fault.Plan: "plan", fault.Kernel: "kernel", 9: "fault.Kind(9)",
	} {
		if got := kind.String(); got != want {
			t.Errorf("%d = %q, want %q", int(kind), got, want)
		}
	}
}
