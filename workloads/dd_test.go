package workloads

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/unit"
)

// The reports are coreutils' own, of Debian 12 and of mail threads.
func TestParseDD(t *testing.T) {
	for _, tt := range []struct {
		text string
		want ddReport
	}{
		{"10000+0 records in\n10000+0 records out\n10485760000 bytes (10 GB) copied, 87.9612 s, 119 MB/s\n", ddReport{10485760000, 87.9612}},
		{"64+0 records in\n64+0 records out\n67108864 bytes (67 MB, 64 MiB) copied, 1.13384 s, 59.2 MB/s", ddReport{67108864, 1.13384}},
		{"1+0 records in\n1+0 records out\n512 bytes copied, 4.9754e-05 s, 10.3 MB/s\n", ddReport{512, 4.9754e-05}},
		{"0+1 records in\n0+1 records out\n1 byte copied, 0.000104 s, 9.6 kB/s\n", ddReport{1, 0.000104}},
		// The blocks of the mail of May 2019, without a patch and with two.
		{"10000+0 records in\n10000+0 records out\n5120000 bytes (5.1 MB, 4.9 MiB) copied, 58.0915 s, 88.1 kB/s\n", ddReport{5120000, 58.0915}},
		{"10000+0 records in\n10000+0 records out\n5120000 bytes (5.1 MB, 4.9 MiB) copied, 3.87487 s, 1.3 MB/s\n", ddReport{5120000, 3.87487}},
		{"dd: warning: partial read\n5000+0 records in\n5000+0 records out\n2560000 bytes (2.6 MB, 2.4 MiB) copied, 58.0915 s, 44.1 kB/s\n", ddReport{2560000, 58.0915}},
	} {
		got, err := parseDD(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
	for _, bad := range []string{
		"",
		"dd: failed to open '/x': No such file or directory\n",
		"1048576 bytes (1.0 MB, 1.0 MiB) copied, 0 s, Infinity B/s\n",
		"1048576 bytes copied, NaN s, 1 B/s\n",
		"x bytes copied, 1 s, 1 B/s\n",
		"1048576 bytes (1.0 MB) copied, 1,5 s, 1 MB/s\n", // another language's comma
	} {
		if got, err := parseDD(bad); err == nil || !strings.HasPrefix(err.Error(), "read dd's report: ") {
			t.Errorf("%q: %+v, %v", bad, got, err)
		}
	}
}

func FuzzParseDD(f *testing.F) {
	f.Add("64+0 records in\n64+0 records out\n67108864 bytes (67 MB, 64 MiB) copied, 1.13384 s, 59.2 MB/s\n")
	f.Add("512 bytes copied, 4.9754e-05 s, 10.3 MB/s")
	f.Add("1 byte copied, , s, ")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseDD(text)
		if err == nil && (r.Bytes < 0 || !(r.Seconds > 0)) {
			t.Errorf("%q: %+v", text, r)
		}
	})
}

func TestDDArgs(t *testing.T) {
	for _, tt := range []struct {
		dd   DD
		want string
	}{
		{DD{Size: 10000 * unit.MiB}, "if=/dev/zero of=F bs=1048576 count=10000"},
		{DD{Size: 10000 * unit.MiB, Conv: "fsync"}, "if=/dev/zero of=F bs=1048576 count=10000 conv=fsync"},
		{DD{Size: 5000 * 512, BS: 512, Conv: "none", Oflag: "dsync"}, "if=/dev/zero of=F bs=512 count=5000 oflag=dsync"},
	} {
		if got := strings.Join(tt.dd.args("F"), " "); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.dd, got, tt.want)
		}
	}
}
