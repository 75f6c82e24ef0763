// Package plans_test runs the embedded plans of the mails in guests, from the
// plan's text to the report. It is a package of its own for its time: some
// fifteen boots.
package plans_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"spindle/internal/proc/proctest"
	"spindle/internal/store/storetest"
	"spindle/pipeline"
	"spindle/reports"
	"spindle/reports/record"
)

// edit replaces what a pattern matches in a plan's text. It must match once.
type edit struct{ pattern, by string }

// Drives have no timing here: tests of other packages use the CPUs meanwhile, and
// a modelled drive that is late would be tried again. So the figures are those of
// no disk; that everything runs, is read back and is told is what is tested.
const raw = "{profile: raw, bus: virtio-scsi, queue-depth: 4, size: 2GiB}"

// once is one block of everything.
var once = edit{`(?m)^repeat: 3$`, "repeat: 1"}

// small is how CI runs each plan: with every workload (of fsync-tester's, which
// differ in numbers only, two of four), and of the other axes what five minutes
// of a quiet host allow, which is one of each. Memory is enlarged first where the
// scale would leave less than a guest boots with.
var small = []struct {
	name, scale string
	long        bool // left to a step of its own
	edits       []edit
	samples     int
	settings    map[string]string // that all samples read back
}{
	{
		"kara-2016", "1/128", false,
		[]edit{
			once, {`memory: 4GiB`, "memory: 28GiB"}, {`scheduler: \[mq-deadline, none\]`, "scheduler: [mq-deadline]"},
			{`(?m)^  no-throttling: .*\n`, ""}, {`(?m)^  sata: .*$`, "  sata: " + raw},
		},
		4, map[string]string{"scheduler": "mq-deadline", "wbt": "on (default)"},
	},
	{
		"torture-2011", "1/128", true,
		[]edit{
			once, {`memory: 1GiB`, "memory: 28GiB"}, {`filesystem: \[xfs, ext4, btrfs\]`, "filesystem: [xfs]"},
			{`(?m)^  linux-6.1: .*\n`, ""}, {`(?m)^  old: .*\n`, ""}, {`(?m)^  sata: .*$`, "  sata: " + raw},
			{`(?m)^  - name: reuse-4k\n.*\n  - name: fresh-1m\n.*\n`, ""},
		},
		3, map[string]string{"scheduler": "mq-deadline"},
	},
	{
		"bfq-dsync-2019", "1/50", false,
		[]edit{
			once, {`memory: 1GiB`, "memory: 14GiB"}, {`filesystem: \[ext4, xfs, none\]`, "filesystem: [ext4]"},
			{`scheduler: \[bfq, mq-deadline\]`, "scheduler: [bfq]"}, {`(?m)^  low-latency: .*\n  no-idle: .*\n`, ""}, {`(?m)^  raid: .*$`, "  raid: " + raw},
		},
		3, map[string]string{"scheduler": "bfq", "iosched/low_latency": "0"},
	},
	{
		"postgres-2014", "1/80", true,
		[]edit{
			once, {`filesystem: \[xfs, ext4, btrfs\]`, "filesystem: [xfs]"}, {`(?m)^  linux-6.1: .*\n`, ""}, {`(?m)^  old: .*\n`, ""},
			{`(?m)^  nlsas: .*\n`, ""}, {`(?m)^  ssd: .*$`, "  ssd: " + raw}, {`data: 48GiB, wal: 1GiB, duration: 30m\}`, "data: 16GiB, wal: 1GiB, duration: 4m}"},
			{`data: 48GiB, wal: 1GiB, duration: 30m,`, "data: 16GiB, wal: 1GiB, duration: 4m,"},
		},
		2, map[string]string{"scheduler": "none"},
	},
}

func TestMails(t *testing.T) {
	if testing.Short() {
		t.Skip("boots guests: not with -short")
	}
	proctest.Need(t, "qemu-system-x86_64", "mmdebstrap", "mksquashfs", "apt-get", "dpkg-deb", "depmod", "go")
	env := environment(t)
	for _, tt := range small {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long && os.Getenv("SPINDLE_TEST_MAILS") == "" {
				t.Skip("all plans of the mails take more than the 10 minutes of a package on two busy cores: SPINDLE_TEST_MAILS=1 go test -timeout 30m -run TestMails ./pipeline/plans")
			}
			text, ok := pipeline.Embedded(tt.name)
			if !ok {
				t.Fatal("it is not embedded")
			}
			full := load(t, string(pipeline.WithScale(text, "1")))
			said := pipeline.Summary(full, pipeline.AssumedOverhead("kvm"))
			if !regexp.MustCompile(`samples, about [0-9]`).MatchString(said) {
				t.Errorf("of its full size it says %q", said)
			}
			t.Log("at full size:", said)

			p := load(t, apply(t, string(pipeline.WithScale(text, tt.scale)), tt.edits))
			dir := filepath.Join(t.TempDir(), "run")
			began := time.Now()
			if err := pipeline.Run(t.Context(), env, p, dir); err != nil {
				t.Fatal(err)
			}
			check(t, p, dir, tt.samples, tt.settings)
			t.Logf("%d samples in %s", tt.samples, time.Since(began).Round(time.Second))
		})
	}
}

// environment keeps kernels and images in the user's own store, so that they are
// made once.
func environment(t *testing.T) pipeline.Env {
	t.Helper()
	cache, st := storetest.User(t)
	env := pipeline.NewEnv(st, cache, nil, time.Now, "", "test", []string{"test"})
	env.Temp = t.TempDir()
	return env
}

func load(t *testing.T, text string) *pipeline.Plan {
	t.Helper()
	p, err := pipeline.Load("mail.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func apply(t *testing.T, text string, edits []edit) string {
	t.Helper()
	for _, e := range edits {
		re := regexp.MustCompile(e.pattern)
		if n := len(re.FindAllString(text, -1)); n != 1 {
			t.Fatalf("%q is %d times in the plan", e.pattern, n)
		}
		text = re.ReplaceAllLiteralString(text, e.by)
	}
	return text
}

// check holds a run to what it should have given: all samples, with all metrics
// of their workloads, and a report that has them.
func check(t *testing.T, p *pipeline.Plan, dir string, want int, settings map[string]string) {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := run.Samples()
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) != want {
		t.Errorf("%d samples, want %d", len(samples), want)
	}
	for _, s := range samples {
		what := fmt.Sprintf("%s, %s", s.Condition.Workload, s.Arm)
		if s.Outcome.Kind != record.OK {
			t.Errorf("%s: %+v", what, s.Outcome)
			continue
		}
		for k, v := range settings {
			if s.Settings[k] != v {
				t.Errorf("%s: %s is %q, want %q", what, k, s.Settings[k], v)
			}
		}
		w, _ := p.Workload(s.Condition.Workload)
		for _, m := range w.Metrics() {
			i := slices.IndexFunc(s.Metrics, func(x record.Metric) bool { return x.Name == m.Name })
			if i < 0 && m.Name == "checkpoint max" {
				continue // none was reached in seconds
			}
			if i < 0 || math.IsNaN(s.Metrics[i].Value) || m.Primary && s.Metrics[i].Value <= 0 {
				t.Errorf("%s: %s is missing or none: %+v", what, m.Name, s.Metrics)
			}
		}
		kept(t, run.SampleDir(s.Block, s.Cell), what, w.Settings != nil && len(w.Settings.Trace) > 0)
	}
	if _, err := reports.Write(dir); err != nil {
		t.Fatal(err)
	}
	report, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(report)), " ")
	for _, w := range p.Workloads {
		title, _, _ := strings.Cut(w.Title(), ",")
		if w.Name != "" {
			title = w.Name + ":"
		}
		if !strings.Contains(flat, "## "+title) {
			t.Errorf("the report has no section %q", title)
		}
	}
	if !strings.Contains(flat, fmt.Sprintf("%d of %d samples done", want, want)) {
		t.Error("the report does not say that all is done")
	}
	// With go test -artifacts the reports stay, to be read.
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "report.md"), report, 0o644); err != nil {
		t.Error(err)
	}
}

// kept looks for what every sample keeps of its counters.
func kept(t *testing.T, dir, what string, traced bool) {
	t.Helper()
	files := []string{"console.log", "diskstats.jsonl", "vmstat.jsonl", "stat.jsonl", "iostat.txt", "events.jsonl", "bursts.json", "stalls.jsonl"}
	if traced {
		files = append(files, "trace.dat")
	}
	for _, f := range files {
		if info, err := os.Stat(filepath.Join(dir, f)); err != nil || info.Size() == 0 && f != "stalls.jsonl" {
			t.Errorf("%s: %s is missing or empty (%v)", what, f, err)
		}
	}
}
