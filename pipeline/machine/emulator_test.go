package machine

import "testing"

func TestImpossibleFlags(t *testing.T) {
	tests := map[string]bool{
		"[    5.321359] RSP: 0018:ffffc900006d79b0 EFLAGS: 1e6b6e82": true,
		"RSP: 0018:ffffc900006d79b0 EFLAGS: 00010206 ORIG_RAX: 0":    false, // with resume set, as after a fault
		"RSP: 002b:00007ffd1c EFLAGS: 00000246 ORIG_RAX: 01":         false, // of user space
		"RSP: 0018:ffffc900006d79b0 EFLAGS: 003f7fd7":                false, // all there are
		"RSP: 0018:ffffc900006d79b0 EFLAGS: 00010204":                true,  // bit 1
		"RSP: 0018:ffffc900006d79b0 EFLAGS: 0001820e":                true,  // bits 3 and 15
		"RSP: 0018:ffffc900006d79b0 EFLAGS: 0000000100000246":        true,
		"EFLAGS: none of this is a number 1e6b6e82":                  false,
		"DEFLAGS: 1e6b6e82": false,
	}
	for line, want := range tests {
		if got := impossibleFlags(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
