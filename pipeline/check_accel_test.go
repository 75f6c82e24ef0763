package pipeline

import (
	"errors"
	"testing"

	"spindle/internal/fault"
)

func TestAtAccel(t *testing.T) {
	p := load(t, least+"machine: {memory: 1GiB, accel: kvm}\n")
	err := p.atAccel("open /dev/kvm: permission denied")
	var ps Problems
	if !errors.As(err, &ps) || fault.Of(err) != fault.Plan || fault.Hint(err) == "" {
		t.Fatalf("fault of %s, hint %q: %v", fault.Of(err), fault.Hint(err), err)
	}
	if got := ps[0]; got.Line != 10 || got.Column != 32 || got.Width != 3 || got.Message != "accel: kvm: open /dev/kvm: permission denied" {
		t.Errorf("%+v", got)
	}
}

// Only accel: kvm asks the host.
func TestCheckAccelAuto(t *testing.T) {
	if err := load(t, least).CheckAccel(t.Context(), Env{Cache: "/dev/null/none"}); err != nil {
		t.Error(err)
	}
}
