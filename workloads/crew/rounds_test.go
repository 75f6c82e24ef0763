package crew

import (
	"errors"
	"fmt"
	"testing"
)

func TestRounds(t *testing.T) {
	type options struct{ N int }
	var did string
	r := Rounds[options]{
		Name: "age",
		Check: func(o options) error {
			if o.N < 1 {
				return errors.New("too few")
			}
			return nil
		},
		Lead: func(o options) error { did = fmt.Sprintf("lead %d", o.N); return nil },
		Member: func(o options, index, round int) error {
			did = fmt.Sprintf("member %d %d %d", o.N, index, round)
			return nil
		},
	}
	for _, tt := range []struct {
		args []string
		code int
		ok   bool
		did  string
	}{
		{[]string{"age", `{"N":2}`}, 0, true, "lead 2"},
		{[]string{"age-member", `{"N":2}`, "3", "4"}, 0, true, "member 2 3 4"},
		{[]string{"age-member", `{"N":2}`, "3"}, 1, true, ""},
		{[]string{"age-member", `{"N":2}`, "3", "x"}, 1, true, ""},
		{[]string{"age-member", `{"N":2}`, "", "4"}, 1, true, ""},
		{[]string{"age", `{"N":0}`}, 1, true, ""},
		{[]string{"age", `{`}, 1, true, ""},
		{[]string{"ages", `{"N":2}`}, 0, false, ""},
		{[]string{"age"}, 0, false, ""},
		{nil, 0, false, ""},
	} {
		did = ""
		if code, ok := r.Role(tt.args); code != tt.code || ok != tt.ok || did != tt.did {
			t.Errorf("%q: %d, %v, did %q; want %d, %v, %q", tt.args, code, ok, did, tt.code, tt.ok, tt.did)
		}
	}
}
