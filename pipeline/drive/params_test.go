package drive

import (
	"testing"
)

// What a profile file says is what the manifest of a run will say.
func TestParams(t *testing.T) {
	values := map[string]string{}
	for _, p := range (Spec{Profile: "sata-7200"}).Params() {
		values[p.Name] = p.Text
	}
	for _, want := range []Param{{"rpm", "7200"}, {"queue.depth", "31"}} {
		if values[want.Name] != want.Text {
			t.Errorf("%s = %q, want %q (all: %v)", want.Name, values[want.Name], want.Text, values)
		}
	}
	scaled := map[string]string{}
	for _, p := range (Spec{Profile: "sata-7200", MediaRate: 30 * 1000 * 1000}).Params() {
		scaled[p.Name] = p.Text
	}
	if scaled["outer-rate"] == values["outer-rate"] || scaled["rpm"] != values["rpm"] {
		t.Errorf("media-rate changed outer-rate %s to %s and rpm %s to %s; want the first alone", values["outer-rate"], scaled["outer-rate"], values["rpm"], scaled["rpm"])
	}
	if p := (Spec{Profile: "raw"}).Params(); p != nil {
		t.Errorf("a drive without timing has parameters: %v", p)
	}
}
