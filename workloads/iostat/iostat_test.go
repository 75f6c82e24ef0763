package iostat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/workloads/sample"
)

// mail is what Dave Chinner posted on 29 Apr 2014 (linux-mm, Postgresql
// performance problems with IO latency), wrapped as his mailer did: ext4, then
// XFS.
const mail = `Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz 
avgqu-sz   await r_await w_await  svctm  %util
vdc               0.00     3.00 3142.20  219.20    34.11    19.10    32.42     
1.11    0.33    0.33    0.31   0.27  91.92
vdc               0.00     0.80 3311.60  216.20    35.86    18.90    31.79     
1.17    0.33    0.33    0.39   0.26  92.56
vdc               0.00     0.80 2919.80 2750.60    31.67    48.36    28.90    
20.05    3.50    0.36    6.83   0.16  92.96
vdc               0.00     0.80  435.00 15689.80     4.96   198.10    25.79   
113.21    7.03    2.32    7.16   0.06  99.20
vdc               0.00     0.80 2683.80  216.20    29.72    18.98    34.39     
1.13    0.39    0.39    0.40   0.32  91.92
vdc               0.00     0.80 2853.00  218.20    31.29    19.06    33.57     
1.14    0.37    0.37    0.36   0.30  92.56

In comparison, this is from XFS:

Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz 
avgqu-sz   await r_await w_await  svctm  %util
vdc               0.00     0.00 2416.40  335.00    21.02     7.85    21.49     
0.78    0.28    0.30    0.19   0.24  65.28
vdc               0.00     0.00 2575.80  336.00    22.68     7.88    21.49     
0.81    0.28    0.29    0.16   0.23  66.32
vdc               0.00     0.00 1740.20 4645.20    15.60    58.22    23.68    
21.21    3.32    0.41    4.41   0.11  68.56
vdc               0.00     0.00 2082.80  329.00    18.28     7.71    22.07     
0.81    0.34    0.35    0.26   0.28  67.44
vdc               0.00     0.00 2347.80  333.20    19.53     7.80    20.88     
0.83    0.31    0.32    0.25   0.25  67.52
`

// The published rows, made again from counters that give them: what can be told
// from their other columns must come out as it was printed.
func TestPublished(t *testing.T) {
	rows := ParseClassic(mail)
	if len(rows) != 11 {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	if r := rows[3]; r.Device != "vdc" || r.Writes != 15689.80 || r.Queue != 113.21 || r.Util != 99.20 || r.WriteMerge != 0.80 {
		t.Errorf("row 4: %+v", r)
	}
	const seconds = 5
	for _, r := range rows {
		n := func(v float64) uint64 { return uint64(math.Round(v * seconds)) }
		got := Between(sample.Disk{}, sample.Disk{
			Stamp: sample.Stamp{Monotonic: seconds * 1e9},
			Reads: n(r.Reads), Writes: n(r.Writes), ReadMerges: n(r.ReadMerge), WriteMerges: n(r.WriteMerge),
			ReadSectors: n(r.ReadMB * 2048), WriteSectors: n(r.WriteMB * 2048),
			ReadMS: n(r.Reads * r.ReadAwait), WriteMS: n(r.Writes * r.WriteAwait),
			QueueMS: n(r.Queue * 1000), BusyMS: n(r.Util * 10),
		})
		// Printed with two digits, and made of numbers of two digits.
		if diff := cmp.Diff(r.Columns, got, cmpopts.EquateApprox(0.004, 0.011), cmp.FilterPath(func(p cmp.Path) bool {
			switch p.Last().String() {
			case ".Seconds", ".ReadSize", ".WriteSize", ".ReadMerged", ".WriteMerged":
				return true
			}
			return false
		}, cmp.Ignore())); diff != "" {
			t.Errorf("(-printed +made)\n%s", diff)
		}
	}
	// And the rows that we print are read again.
	again := ParseClassic(ClassicHeader + "\n" + rows[0].Classic("vdc"))
	if diff := cmp.Diff(rows[:1], again); diff != "" {
		t.Error(diff)
	}
	if got := rows[0].Classic("vdc"); got != "vdc               0.00     3.00 3142.20  219.20    34.11    19.10    32.42     1.11    0.33    0.33    0.31   0.27  91.92" {
		t.Errorf("printed %q", got)
	}
}

func TestBetween(t *testing.T) {
	at := func(s float64) sample.Stamp { return sample.Stamp{Monotonic: int64(s * 1e9)} }
	// Counters of milliseconds wrap.
	got := Between(sample.Disk{Stamp: at(1), ReadMS: 1<<32 - 10, BusyMS: 1<<32 - 100}, sample.Disk{Stamp: at(2), Reads: 10, ReadMS: 10, BusyMS: 400})
	if got.ReadAwait != 2 || got.Util != 50 || got.Service != 50 {
		t.Errorf("%+v", got)
	}
	// Nothing is zero and not NaN. More than all of the time is all of it, but
	// only in the classic rows.
	got = Between(sample.Disk{}, sample.Disk{Stamp: at(1), BusyMS: 1100})
	if got.Util != 110 || got.Await != 0 || got.Service != 0 || !strings.HasSuffix(got.Classic("sda"), " 100.00") {
		t.Errorf("%+v, %q", got, got.Classic("sda"))
	}
	if got := Between(sample.Disk{Stamp: at(1)}, sample.Disk{Stamp: at(1)}); got != (Columns{}) {
		t.Errorf("no time: %+v", got)
	}
}

func TestSeries(t *testing.T) {
	var rs []sample.Disk
	for i := range 13 {
		late := float64(i%3) * 0.01
		rs = append(rs, sample.Disk{Stamp: sample.Stamp{T: float64(i) + late, Monotonic: int64((float64(i) + late) * 1e9)}, Writes: uint64(100 * i)})
	}
	var ends []int
	total := 0.0
	for _, x := range Series(rs, nil, 5*time.Second) {
		ends = append(ends, int(x.T))
		total += x.Writes * x.Seconds
	}
	if diff := cmp.Diff([]int{5, 10, 12}, ends); diff != "" || math.Abs(total-1200) > 1e-6 {
		t.Errorf("%g writes\n%s", total, diff)
	}
	if Series(nil, nil, time.Second) != nil || Series(rs[:1], nil, time.Second) != nil {
		t.Error("intervals of nothing")
	}
}

func FuzzParseClassic(f *testing.F) {
	f.Add(mail)
	f.Add("sda 1 2 3 4 5 6 7 8 9 10 11 12 13\n1 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range ParseClassic(text) {
			if r.Device == "" {
				t.Error("a row of no device")
			}
		}
	})
}

// counters are two readings of a drive, as a kernel of today shows them. Between
// them 4 s have passed.
const (
	before = "   8       0 sda 1000 50 80000 4000 2000 300 160000 9000 0 6000 13000 10 1 2048 20 30 40\n"
	after  = "   8       0 sda 1777 93 97531 6789 4321 1234 345678 23456 3 9100 33333 17 3 6144 55 71 205\n"
)

// sysstat's own iostat on the same counters. It gets them by files that stand in
// for those of /proc in a mount namespace of its own.
func TestRealIostat(t *testing.T) {
	proctest.Need(t, "iostat", "unshare", "mount")
	if os.Geteuid() != 0 {
		t.Skip("mounting over /proc in a namespace wants root")
	}
	// iostat shows drives that sysfs has.
	drives, err := os.ReadDir("/sys/block")
	if err != nil || len(drives) == 0 {
		t.Skipf("this host has no drive: %v", err)
	}
	name := drives[0].Name()
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// All iostats of a report read one uptime; the second one's is 4 s later.
	// What sysfs has of a drive is its line of diskstats without the name.
	stat := func(line string) string { return line[strings.Index(line, "sda")+3:] }
	put("drive", stat(before))
	put("uptime", "1000.00 1000.00\n")
	put("stat", cpus(cpuBefore))
	line := fmt.Sprintf(`cd %[1]s && mount --bind drive /sys/block/%[2]s/stat && mount --bind uptime /proc/uptime && mount --bind stat /proc/stat || exit 77
iostat -cxmd -o JSON %[2]s 2 2 >out & sleep 1
printf '%%s' "$AFTER" >drive; printf '%%s' "$CPUS" >stat; echo "1004.00 1004.00" >uptime
wait`, dir, name)
	_, err = proc.Run(t.Context(), proc.Cmd{Path: "unshare", Args: []string{"-m", "sh", "-c", line}, Setenv: []string{"AFTER=" + stat(after), "CPUS=" + cpus(cpuAfter), "LC_ALL=C"}})
	if err != nil {
		t.Skipf("this host does not let iostat read other counters: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	var rep struct {
		Sysstat struct {
			Hosts []struct {
				Statistics []struct {
					CPU  map[string]float64 `json:"avg-cpu"`
					Disk []map[string]any
				}
			}
		}
	}
	if err := json.Unmarshal(text, &rep); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(rep.Sysstat.Hosts) != 1 || len(rep.Sysstat.Hosts[0].Statistics) != 2 || len(rep.Sysstat.Hosts[0].Statistics[1].Disk) != 1 {
		t.Fatalf("iostat said: %s", text)
	}
	want := rep.Sysstat.Hosts[0].Statistics[1].Disk[0]
	ours, err := json.Marshal(Between(reading(t, before, 0), reading(t, after, 4*time.Second)))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(ours, &got); err != nil {
		t.Fatal(err)
	}
	line1, line2 := strings.SplitN(cpus(cpuBefore), "\n", 2)[0], strings.SplitN(cpus(cpuAfter), "\n", 2)[0]
	ours, err = json.Marshal(BetweenCPU(cpuReading(t, line1), cpuReading(t, line2)))
	if err != nil {
		t.Fatal(err)
	}
	var share map[string]float64
	if err := json.Unmarshal(ours, &share); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rep.Sysstat.Hosts[0].Statistics[1].CPU, share, cmpopts.EquateApprox(0, 0.00501)); diff != "" {
		t.Errorf("CPU (-iostat's +ours):\n%s", diff)
	}
	compared := 0
	for k, w := range want {
		v, ok := w.(float64)
		if !ok {
			continue
		}
		compared++
		g, ok := got[k].(float64)
		if !ok || math.Abs(g-v) > 0.00501 {
			t.Errorf("%s: %v, iostat says %g", k, got[k], v)
		}
	}
	if compared < 20 {
		t.Errorf("only %d columns compared: %v", compared, want)
	}
}

// Ticks of a CPU: user, nice, system, idle, iowait, irq, softirq, steal, guest.
const (
	cpuBefore = "100 5 100 100000 50 1 2 3 0 0"
	cpuAfter  = "180 25 160 100190 112 7 9 40 0 0"
)

// cpus is a /proc/stat.
func cpus(line string) string {
	return "cpu  " + line + "\ncpu0 " + line + "\nintr 0\nctxt 0\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n"
}

// cpuReading is its first line, in seconds of 100 ticks.
func cpuReading(t *testing.T, line string) (c sample.CPU) {
	t.Helper()
	_, err := fmt.Sscanf(line, "cpu  %g %g %g %g %g %g %g %g", &c.User, &c.Nice, &c.System, &c.Idle, &c.IOWait, &c.IRQ, &c.SoftIRQ, &c.Steal)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reading is a line of diskstats, through the sampler's own parser.
func reading(t *testing.T, line string, at time.Duration) sample.Disk {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"diskstats": line, "stat": "cpu  1 0 1 1 0 0 0 0 0 0\n",
		"vmstat": "nr_dirty 1\nnr_writeback 1\nnr_dirtied 1\nnr_written 1\nnr_dirty_threshold 1\nnr_dirty_background_threshold 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := sample.Start(sample.Config{Proc: dir, Drive: "sda", Dir: dir, Every: time.Hour, Monotonic: func() time.Duration { return at }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, sample.DiskstatsFile))
	if err != nil {
		t.Fatal(err)
	}
	var d sample.Disk
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d
}
