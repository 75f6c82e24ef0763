package images

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/debian"
	"spindle/internal/fault"
)

func TestSpecValidate(t *testing.T) {
	for _, tt := range []struct {
		spec Spec
		want string // how the error begins; "" for none
	}{
		{Spec{}, ""},
		{Spec{Suite: "bookworm", Packages: []string{"blktrace", "g++"}, Snapshot: "20251130T000000Z"}, ""},
		{Spec{File: "x.squashfs", SSH: "openssh"}, ""},
		{Spec{File: "x.squashfs", Packages: []string{"fio"}}, "file "},
		{Spec{SSH: "dropbear"}, "ssh "},
		{Spec{Suite: "-oops"}, "suite "},
		{Spec{Suite: "trixie/updates"}, "suite "},
		{Spec{Packages: []string{"fio,rm"}}, "packages: "},
		{Spec{Packages: []string{"?installed"}}, "packages: "},
		{Spec{Snapshot: "yesterday"}, "snapshot "},
	} {
		err := tt.spec.Validate()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%+v: %v", tt.spec, err)
		case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)):
			t.Errorf("%+v: error %v, want one that begins with %q", tt.spec, err, tt.want)
		}
	}
	_, err := Make(t.Context(), Env{Store: openStore(t), Archive: debian.Archive{Mirror: "http://m.test/debian"}}, Spec{Snapshot: "20251130T000000Z"})
	if fault.Of(err) != fault.Plan {
		t.Errorf("snapshot and mirror: %v", err)
	}
}

func TestSpecAll(t *testing.T) {
	got := Spec{Packages: []string{"fio", "blktrace", "zsh"}}.all([]string{"xfsprogs", "fio"})
	if d := cmp.Diff([]string{"blktrace", "fio", "xfsprogs", "zsh"}, got); d != "" {
		t.Error(d)
	}
	if s := (Spec{Packages: []string{"a", "b"}, Snapshot: "x"}).String(); s != "trixie with a, b of x" {
		t.Error(s)
	}
}
