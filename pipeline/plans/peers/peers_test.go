// Package peers_test has a guest's own programs look at what spindle counts in
// it. It is a package of its own for its time: nine boots.
package peers_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/proc/proctest"
	"spindle/internal/store/storetest"
	"spindle/pipeline"
	"spindle/reports"
	"spindle/reports/record"
	"spindle/workloads/iostat"
	"spindle/workloads/sample"
)

// peersPlan has the guest's own filefrag and iostat look at what spindle counts
// there, settings of a 6.12 kernel that need its own memory management to take,
// a trace, and two arms on one aged file system.
const peersPlan = `
name: peers
image: {packages: [sysstat]}
kernels:
  linux: {deb: linux-image-6.12-cloud-amd64}
drives:
  d: {profile: raw, bus: virtio-scsi, queue-depth: 4, size: 2GiB}
arms:
  base: {kernel: linux}
  other: {kernel: linux, sysctl: {vm.dirty_background_ratio: 5}}
conditions:
  filesystem: [ext4]
  scheduler: [bfq]
workloads:
  - name: look
    aged: {rounds: 3, files: 32, writers: 4, size: 256KiB}
    command:
      run: |
        cd "$TARGET"
        for i in $(seq 14); do for f in 0x 0y; do head -c 8192 /dev/zero >>$f; sync $f; done; done
        find . -type f -name '[0-9]*' | LC_ALL=C sort -r >/tmp/list
        xargs sha256sum </tmp/list >/run/spindle/out/sums
        xargs filefrag -sv </tmp/list >/run/spindle/out/frag
        xargs /run/spindle/spindle-guest extents </tmp/list >/run/spindle/out/ours
  - name: iostat
    command:
      run: |
        out=/run/spindle/out
        for try in 1 2 3 4 5 6; do
          sync; grep ' sd' /proc/diskstats >/tmp/before; sleep 2.2; cut -d ' ' -f 1 /proc/uptime >$out/from
          LC_ALL=C iostat -xmdy -o JSON 9 1 >$out/io.json &
          sleep 1; until [ "$(cut -d ' ' -f 3 /proc/$!/stat)" = S ]; do sleep 0.1; done; sleep 1
          grep ' sd' /proc/diskstats | cmp -s - /tmp/before && quiet=yes || quiet=no
          dd if=/dev/urandom of="$TARGET/a" bs=64k count=64 conv=fsync 2>/dev/null
          echo 3 >/proc/sys/vm/drop_caches; cat "$TARGET/a" >/dev/null; sync
          grep ' sd' /proc/diskstats >/tmp/after
          wait; cut -d ' ' -f 1 /proc/uptime >$out/to; sleep 2.2
          grep ' sd' /proc/diskstats | cmp -s - /tmp/after && [ $quiet = yes ] && exit
          echo "the drive did not rest beside iostat's interval (try $try)"
        done
        exit 1
  - name: written
    dd: {size: 48MiB, conv: fsync}
    settings:
      bdi: {strict_limit: 1, max_bytes: 16777216}
      cgroup: {settings: {io.bfq.weight: 200, io.max: $DEV rbps=max wbps=50000000 riops=max wiops=max}}
      trace: [explain]
machine: {memory: 512MiB, accel: tcg}
repeat: 1
`

func TestPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("boots guests: not with -short")
	}
	proctest.Need(t, "qemu-system-x86_64", "mmdebstrap", "mksquashfs", "apt-get", "dpkg-deb", "depmod", "go")
	env := environment(t)
	p, err := pipeline.Load("peers.yaml", []byte(peersPlan))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if err := pipeline.Run(t.Context(), env, p, dir); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := run.Samples()
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) != 8 { // written has its like without a trace
		t.Errorf("%d samples, want 8", len(samples))
	}
	sums := map[string]string{}
	for _, s := range samples {
		t.Run(s.Condition.Workload+" "+s.Arm, func(t *testing.T) {
			if s.Outcome.Kind != record.OK {
				t.Fatalf("outcome %+v", s.Outcome)
			}
			at := run.SampleDir(s.Block, s.Cell)
			switch s.Condition.Workload {
			case "look":
				// What they are made of, and where the first of them lies.
				sums[s.Arm] = text(t, at, "sums") + regexp.MustCompile(`(?m)^ *[0-9]+:.*$`).FindString(text(t, at, "frag"))
				fragments(t, text(t, at, "frag"), text(t, at, "ours"))
			case "iostat":
				columns(t, at)
			case "written":
				settled(t, s)
				explained(t, at)
			case "written-untraced":
				settled(t, s)
			}
		})
	}
	if diff := cmp.Diff(sums["base"], sums["other"]); sums["base"] == "" || diff != "" {
		t.Errorf("the arms did not start from the same aged files (-base +other):\n%s", diff)
	}
	if _, err := reports.Write(dir); err != nil {
		t.Fatal(err)
	}
	report := strings.Join(strings.Fields(text(t, dir, "report.md")), " ")
	for _, want := range []string{"8 of 8 samples done", "### What writeback did", "### What tracing cost", "then age, 3 rounds of 32 files"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "writeback_d_ext4_bfq_written.svg")); err != nil || info.Size() == 0 {
		t.Error("what writeback did was not drawn: ", err)
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

func text(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fragments holds our extents against filefrag's, file by file.
func fragments(t *testing.T, frag, ours string) {
	t.Helper()
	type count struct{ rows, found int }
	want := map[string]count{}
	rows := 0
	for line := range strings.Lines(frag) {
		if regexp.MustCompile(`^ *[0-9]+: +[0-9]+\.\.`).MatchString(line) {
			rows++
		}
		if m := regexp.MustCompile(`^(\S+): ([0-9]+) extents? found`).FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[2])
			want[m[1]] = count{rows, n}
			rows = 0
		}
	}
	several, total := 0, 0
	for line := range strings.Lines(ours) {
		var got struct {
			Path            string
			Extents         int
			Discontiguities int
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		total++
		w, ok := want[got.Path]
		if !ok || got.Extents != w.rows || got.Discontiguities+1 != w.found {
			t.Errorf("%s: %d extents, %d discontiguities; filefrag shows %d and finds %d", got.Path, got.Extents, got.Discontiguities, w.rows, w.found)
		}
		if got.Extents > 1 {
			several++
		}
	}
	if total != len(want) || total < 40 || several == 0 {
		t.Errorf("%d files, %d in several extents; filefrag looked at %d", total, several, len(want))
	}
	t.Logf("%d files as filefrag has them, %d in several extents", total, several)
}

// columns holds our columns against those of the guest's own iostat. Its interval
// begins and ends while the drive rests, as ours do that are laid around it, so
// both saw the same requests (the command looks whether it did rest, as ext4 reads
// bitmaps in the background when it likes, and else measures again); what is a
// rate differs by the lengths of the two, of which iostat does not tell its own:
// it is 9 s to a few hundredths.
func columns(t *testing.T, dir string) {
	t.Helper()
	var said struct {
		Sysstat struct {
			Hosts []struct {
				Statistics []struct{ Disk []map[string]any }
			}
		}
	}
	if err := json.Unmarshal([]byte(text(t, dir, "io.json")), &said); err != nil {
		t.Fatal(err)
	}
	var readings []sample.Disk
	for line := range strings.Lines(text(t, dir, "diskstats.jsonl")) {
		var d sample.Disk
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		readings = append(readings, d)
	}
	if len(readings) < 6 {
		t.Fatalf("%d readings", len(readings))
	}
	// The last reading before iostat began is after the sync, the first one after
	// it ended is after all.
	begin, end := uptime(t, dir, "from"), uptime(t, dir, "to")
	var first, last sample.Disk
	for _, d := range readings {
		if time.Duration(d.Monotonic) <= begin {
			first = d
		}
		if last.Monotonic == 0 && time.Duration(d.Monotonic) >= end {
			last = d
		}
	}
	if first.Monotonic == 0 || last.Monotonic == 0 {
		t.Fatalf("no readings around %v to %v", begin, end)
	}
	ours, err := json.Marshal(iostat.Between(first, last))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(ours, &got); err != nil {
		t.Fatal(err)
	}
	seconds := time.Duration(last.Monotonic - first.Monotonic).Seconds()
	var want map[string]any
	for _, d := range said.Sysstat.Hosts[0].Statistics[0].Disk {
		if r, ok := d["w/s"].(float64); ok && r > 0 && (want == nil || r > want["w/s"].(float64)) {
			want = d
		}
	}
	if want == nil {
		t.Fatalf("iostat saw no writes: %+v", said)
	}
	const theirs = 9.0
	compared := 0
	for k, v := range want {
		w, ok := v.(float64)
		if !ok {
			continue
		}
		compared++
		g, ok := got[k].(float64)
		if !ok {
			t.Errorf("there is no %s", k)
			continue
		}
		slack := 0.00501
		if rate := strings.HasSuffix(k, "/s") || k == "util" || k == "aqu-sz"; rate {
			g *= seconds / theirs
			slack += 0.01 * math.Abs(w) // 90 ms of 9 s
		}
		if math.Abs(g-w) > slack {
			t.Errorf("%s: %g, iostat says %g", k, g, w)
		}
	}
	if compared < 20 {
		t.Errorf("only %d columns compared: %v", compared, want)
	}
	t.Logf("%d columns; iostat: %v", compared, want)
}

// uptime reads a guest's clock where a command has put it.
func uptime(t *testing.T, dir, name string) time.Duration {
	t.Helper()
	s, err := strconv.ParseFloat(strings.TrimSpace(text(t, dir, name)), 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(s * float64(time.Second))
}

// settled says whether the settings of the workload took, as the kernel shows
// them.
func settled(t *testing.T, s record.Sample) {
	t.Helper()
	for k, want := range map[string]string{
		"bdi/strict_limit": "^1$", "bdi/max_bytes": "^1[5-7][0-9]{6}$", "cgroup": "^v2 /spindle$",
		"cgroup/io.bfq.weight": "200", "cgroup/io.max": "wbps=50000000", "wbt_lat_usec": "^(0|75000)$", "wbt": ".",
	} {
		if !regexp.MustCompile(want).MatchString(s.Settings[k]) {
			t.Errorf("%s is %q, want %s", k, s.Settings[k], want)
		}
	}
}

// explained says whether the trace tells of writeback what dd must have done.
func explained(t *testing.T, dir string) {
	t.Helper()
	var x struct {
		Lost   int64 `json:"events_lost"`
		Chunks struct{ Pages int64 }
		Depth  struct {
			Requests int64
			Max      int
			Bytes    float64 `json:"mean_bytes"`
		}
		Held   []struct{ Seconds float64 }
		Series []struct{ T float64 }
	}
	if err := json.Unmarshal([]byte(text(t, dir, record.Writeback)), &x); err != nil {
		t.Fatal(err)
	}
	// 48 MiB, of which flushers write most of what dd's own fsync does not; the
	// drive gets all of it.
	if x.Lost != 0 || float64(x.Depth.Requests)*x.Depth.Bytes < 48<<20 || x.Depth.Max < 1 || len(x.Series) == 0 {
		t.Errorf("%+v", x)
	}
	t.Logf("writeback: %+v", x)
}
