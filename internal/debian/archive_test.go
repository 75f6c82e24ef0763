package debian

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSources(t *testing.T) {
	for _, tt := range []struct {
		name    string
		archive Archive
		suites  []string
		want    string
	}{
		{"defaults", Archive{}, nil, `Types: deb
URIs: http://deb.debian.org/debian
Suites: bookworm trixie
Components: main
Architectures: amd64
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://deb.debian.org/debian-security
Suites: bookworm-security trixie-security
Components: main
Architectures: amd64
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`},
		{"own mirror, one suite", Archive{Mirror: "https://mirror.test/debian", Suites: []string{"sid"}, Keyring: "/k.gpg", Arch: "arm64"}, nil, `Types: deb
URIs: https://mirror.test/debian
Suites: sid
Components: main
Architectures: arm64
Signed-By: /k.gpg
`},
		{"snapshot of a release", Archive{Snapshot: "20251130T000000Z"}, With("trixie"), `Types: deb
URIs: http://snapshot.debian.org/archive/debian/20251130T000000Z
Suites: trixie trixie-updates
Components: main
Architectures: amd64
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
Check-Valid-Until: no

Types: deb
URIs: http://snapshot.debian.org/archive/debian-security/20251130T000000Z
Suites: trixie-security
Components: main
Architectures: amd64
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
Check-Valid-Until: no
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.archive.Validate(); err != nil {
				t.Error(err)
			}
			got := tt.archive.Sources(tt.suites...)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if strings.Contains(strings.ToLower(got), "trusted") {
				t.Error("signatures are not checked")
			}
		})
	}
}

func TestWith(t *testing.T) {
	for suite, want := range map[string][]string{
		"trixie":          {"trixie", "trixie-updates", "trixie-security"},
		"sid":             {"sid"},
		"trixie-proposed": {"trixie-proposed"},
	} {
		if d := cmp.Diff(want, With(suite)); d != "" {
			t.Error(suite, d)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		archive Archive
		want    string // how the error begins; "" for none
	}{
		{Archive{}, ""},
		{Archive{Mirror: "file:///srv/debian"}, ""},
		{Archive{Mirror: "ftp://x/debian"}, "mirror "},
		{Archive{Mirror: "deb.debian.org"}, "mirror "},
		{Archive{Mirror: "http://x/debian\nTrusted: yes"}, "mirror "},
		{Archive{Mirror: "http:///debian"}, "mirror "},
		{Archive{Security: "nowhere"}, "security "},
		{Archive{Suites: []string{"trixie\nTrusted: yes"}}, "suites: "},
		{Archive{Suites: []string{"trixie/updates"}}, ""},
		{Archive{Suites: []string{""}}, "suites: "},
		{Archive{Keyring: "keys.gpg"}, "keyring "},
		{Archive{Keyring: "/a b.gpg"}, "keyring "},
		{Archive{Snapshot: "2025-11-30"}, "snapshot "},
		{Archive{Snapshot: "20251130T000000Z", Mirror: "http://x/debian"}, "snapshot "},
		{Archive{Arch: "x86 64"}, "architecture "},
	} {
		err := tt.archive.Validate()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%+v: %v", tt.archive, err)
		case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)):
			t.Errorf("%+v: error %v, want one that begins with %q", tt.archive, err, tt.want)
		}
	}
}
