package pipeline

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"spindle/reports/record"
)

// wideNames has names as long as they may be.
const wideNames = `name: wide
kernels: {k: {deb: linux-image-6.12-amd64}}
drives: {a-drive-with-a-name-of-forty-characters-: {profile: sata-7200}}
arms:
  an-arm-with-a-name-of-forty-characters--: {kernel: k}
  another-arm-with-a-name-of-forty-charact: {kernel: k}
  short: {kernel: k}
conditions: {filesystem: [btrfs], scheduler: [mq-deadline]}
workloads: [{name: a-workload-with-a-name-of-forty-characte, dd: {size: 96MiB}}]
`

func TestWriteLayout(t *testing.T) {
	demo, _ := Embedded("demo")
	for _, text := range []string{string(demo), wideNames, least} {
		p := load(t, text)
		var b strings.Builder
		if err := WriteLayout(&b, p, Overhead{Boot: time.Second}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > columns {
				t.Errorf("more than %d columns: %s", columns, line)
			}
			if strings.TrimRight(line, " \n") != strings.TrimSuffix(line, "\n") {
				t.Errorf("blanks at the end: %q", line)
			}
		}
		// What is printed, read as words, is the layout.
		var want []string
		for _, block := range Layout(p) {
			for i, c := range block.Cells {
				if i%len(p.Arms) == 0 {
					want = append(want, strings.Fields(c.Condition.String())...)
				}
				want = append(want, c.Arm)
			}
		}
		var got []string
		for line := range strings.Lines(b.String()) {
			fields := strings.Fields(line)
			switch {
			case len(fields) == 0, strings.HasPrefix(line, p.Name+":"), strings.HasPrefix(line, "block "), fields[0] == "condition", fields[0] == "arms,":
				continue
			case line[3] != ' ': // the number of the condition
				fields = fields[1:]
			}
			for _, f := range fields {
				got = append(got, strings.TrimSuffix(f, ","))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-Layout +printed):\n%s\n%s", p.Name, diff, b.String())
		}
	}
}

func TestWriteLayoutJSON(t *testing.T) {
	p := load(t, wideNames)
	var b strings.Builder
	if err := WriteLayoutJSON(&b, p, Overhead{Boot: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Name     string
		Seed     uint64
		Arms     []string
		Samples  int
		Estimate float64 `json:"estimate_seconds"`
		Blocks   []struct {
			Index int
			Cells []record.Cell
		}
		Conditions []record.Condition
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "wide" || got.Seed != 1 || len(got.Arms) != 3 || got.Samples != 9 || got.Estimate < 90 || len(got.Conditions) != 1 {
		t.Errorf("got %+v", got)
	}
	var blocks []Block
	for _, x := range got.Blocks {
		blocks = append(blocks, Block(x))
	}
	if diff := cmp.Diff(Layout(p), blocks); diff != "" {
		t.Errorf("blocks (-Layout +json):\n%s", diff)
	}
}

func TestWriteCheck(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{least, "least: 1 arm × 2 conditions × 3 blocks = 6 samples, about "},
		{least, "note: v is the only arm: it is measured, but compared with nothing\n"},
		{wideNames, "wide: 3 arms × 1 condition × 3 blocks = 9 samples, about "},
	} {
		var b strings.Builder
		if err := WriteCheck(&b, load(t, tc.text), Overhead{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), tc.want) {
			t.Errorf("got %q, want %q", b.String(), tc.want)
		}
	}
}

func TestAbout(t *testing.T) {
	for _, tc := range []struct {
		d    time.Duration
		want string
	}{
		{0, "about 0 s"},
		{99500 * time.Millisecond, "about 2 min"},
		{42 * time.Second, "about 42 s"},
		{9*time.Minute + 29*time.Second, "about 9 min"},
		{99*time.Minute + 40*time.Second, "about 1 h 40 min"},
		{2*time.Hour + 56*time.Minute, "about 3 h"},
		{47*time.Hour + 58*time.Minute, "about 2 days"},
		{60 * time.Hour, "about 3 days"},
	} {
		if got := about(tc.d); got != tc.want {
			t.Errorf("about(%v) = %q, want %q", tc.d, got, tc.want)
		}
	}
}

// The workload writes 96 MiB; at 30 MB/s that takes 100663296/30e6 = 3.355 s.
func TestEstimate(t *testing.T) {
	p := load(t, `name: n
kernels: {k: {deb: linux-image-6.12-amd64}}
drives:
  slow: {profile: sata-7200, media-rate: 30MB/s}
  fast: {profile: sata-7200, media-rate: 60MB/s}
arms: {a: {kernel: k}, b: {kernel: k}}
conditions: {filesystem: [ext4, xfs], scheduler: [bfq]}
workloads: [dd: {size: 96MiB, conv: fsync}]
repeat: 5
`)
	o := Overhead{Boot: 10 * time.Second, Setup: 5 * time.Second}
	slow := record.Condition{Drive: "slow", Filesystem: "xfs", Scheduler: "bfq", Workload: p.Workloads[0].Slug()}
	rate := float64(p.Drives["slow"].SequentialRate())
	work := time.Duration(100663296 / rate * 1e9)
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if d := got - want; d < -time.Millisecond || d > time.Millisecond {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("sample", p.EstimateCell(record.Cell{Arm: "a", Condition: slow}, o), 15*time.Second+work)
	fast := time.Duration(100663296 / float64(p.Drives["fast"].SequentialRate()) * 1e9)
	near("plan", Estimate(p, o), 2*2*5*(2*15*time.Second+work+fast))
	near("limit", p.SampleLimit(slow), 5*time.Minute+10*work)
	p.Limit = 7e9
	near("limit of the plan", p.SampleLimit(slow), 7*time.Second)
}
