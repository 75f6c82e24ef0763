package bisection

import (
	"bytes"
	"crypto/sha1"
	"encoding/json"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"spindle/reports/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// example is a bisection of twelve commits. The sixth made runtime 12 % longer.
func example() Result {
	r := Result{
		Kind: "found", Probability: 0.987,
		Change: &Change{Share: 0.12, Low: 0.108, High: 0.133, Claim: true},
		Repo:   "/home/ada/linux", GoodRev: "v6.11", BadRev: "v6.12",
		Metric:   record.MetricInfo{Name: "runtime", Unit: "s", Direction: record.Lower},
		Workload: "dd 10000 MiB", Condition: record.Condition{Drive: "sata", Filesystem: "ext4", Scheduler: "mq-deadline", Workload: "dd"},
		Ends: Ends{
			Change: Change{Share: 0.118, Low: 0.1, High: 0.136, N: 3, Sees: 0.03, Claim: true},
			Self:   &Change{Share: 0.002, Low: -0.01, High: 0.014, N: 3},
		},
		Boots: Boots{Ends: 9, Search: 14, Confirm: 12, Kernels: 8, Twins: 2, Skipped: 2}, Seconds: 5400,
		Again: []string{"spindle bisect plan.yaml --good v6.11 --bad v6.12"},
		Host: &record.Manifest{
			Spindle: "v1", Drives: []record.Drive{{Name: "sata", Model: "7200 rpm, 1 request at a time"}},
			Machine: record.Machine{QEMU: "8.2", Accel: "kvm", CPUs: 2, MemoryBytes: 4 << 30, Host: record.Host{CPU: "Xeon", Kernel: "6.1"}},
		},
	}
	for i := range 13 {
		c := Commit{ID: id(i), Subject: fmt.Sprintf("mm: a change with a subject that is as long as they are, number %d", i), Author: "Ada Writeback <ada@example.org>"}
		if i >= 6 {
			c.After = 1
		}
		switch i {
		case 0, 5, 6, 12:
			level := 90.0
			if i >= 6 {
				level = 100.8
			}
			c.Values = []float64{level - 0.3, level, level + 0.3}
			c.Mean, c.Low, c.High = level, level-0.745, level+0.745
		case 3:
			c.Values, c.Mean = []float64{90.1}, 90.1
		case 8:
			c.Skip, c.Log = "build: mm/vmscan.c:12: error: 'x' undeclared", "builds/abc.log"
		case 9:
			c.Skip, c.Log = "panic: Kernel panic - not syncing: <0>[x](y)", "samples/abc/b4"
		}
		r.Commits = append(r.Commits, c)
	}
	r.Commits[6].Subject = `mm: page-writeback: begin "earlier"`
	r.Commits[6].Culprit, r.Commits[5].Culprit = 0.987, 0.01
	r.Good, r.Bad, r.Culprits = r.Commits[0], r.Commits[12], r.Commits[6:7]
	r.Confirm = &Confirm{
		Stands: true, Patch: "revert-00000abc0006.patch",
		Parents: []Comparison{{r.Commits[5].ID, Change{Share: 0.119, Low: 0.1, High: 0.138, N: 3, Claim: true}}},
		Revert:  &Comparison{r.Bad.ID, Change{Share: -0.106, Low: -0.12, High: -0.09, N: 3, Claim: true}},
	}
	return r
}

// id is a commit's.
func id(i int) string { return fmt.Sprintf("%x", sha1.Sum([]byte{byte(i)})) }

func TestMarkdown(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Result)
	}{
		{"found", func(*Result) {}},
		{"unconfirmed", func(r *Result) {
			r.Kind = "unconfirmed"
			r.Confirm.Stands, r.Confirm.Revert, r.Confirm.Why = false, nil, "it does not revert cleanly: conflict in mm/page-writeback.c"
			r.Confirm.Parents[0].Change = Change{Share: 0.004, Low: -0.01, High: 0.018, N: 5}
		}},
		{"one of", func(r *Result) {
			r.Kind, r.Confirm, r.Culprits, r.Paths = "one of", nil, r.Commits[7:10], []string{"mm", "fs/fs-writeback.c"}
			r.Probability = 0.9999
		}},
		{"none", func(r *Result) {
			r.Kind, r.Confirm, r.Culprits, r.Change = "no difference", nil, nil, nil
			r.Ends.Change = Change{Share: 0.001, Low: -0.009, High: 0.011, N: 5, Sees: 0.021}
		}},
		{"virtual", func(r *Result) {
			r.Virtual, r.Ends.Self = true, nil
			r.Second = &Second{Probability: 0.93, Culprits: r.Commits[10:11], Share: 0.03}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := example()
			test.change(&r)
			got := Markdown(r)
			for i, line := range strings.Split(got, "\n") {
				if n := utf8.RuneCountInString(line); n > 72 && !strings.HasPrefix(line, "    ") {
					t.Errorf("line %d has %d columns: %s", i+1, n, line)
				}
			}
			golden := filepath.Join("testdata", strings.ReplaceAll(test.name, " ", "_")+".md")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Error(d)
			}
		})
	}
}

// The lines that programs read have the form that checkpatch.pl and regzbot
// look for.
func TestTrailers(t *testing.T) {
	text := Markdown(example())
	for _, want := range []string{
		"\n    Fixes: " + id(6)[:12] + " (\"mm: page-writeback: begin \"earlier\"\")\n",
		"\n    #regzbot introduced: " + id(6) + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q", want)
		}
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	r := example()
	if err := Write(dir, r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, JSONFile))
	if err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, back); d != "" {
		t.Error(d)
	}
	pic, err := os.ReadFile(filepath.Join(dir, PlotFile+".png"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(pic)); err != nil {
		t.Error(err)
	}
	svg, err := os.ReadFile(filepath.Join(dir, PlotFile+".svg"))
	if err != nil || !bytes.Contains(svg, []byte("probability")) {
		t.Errorf("%v", err)
	}
}
