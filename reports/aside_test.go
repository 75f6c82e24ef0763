package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spindle/reports/record"
)

// asideRun is a traced workload and the same one without, with all that samples
// keep beside their metrics. The figures are chosen so that each line of the
// report can be worked out by hand.
func asideRun(t testing.TB) *record.Run {
	m := testManifest("aside", "vanilla", "patched")
	bare := record.Workload{Name: "dd-untraced", Title: "dd 10000 MiB", Metrics: []record.MetricInfo{runtime}}
	traced := record.Workload{Name: "dd", Title: "dd 10000 MiB, traced (explain)", Metrics: []record.MetricInfo{runtime}, Untraced: "dd-untraced"}
	cross(&m, 3, []string{"sata"}, []string{"ext4", "xfs"}, []string{"none"}, bare, traced)
	r := create(t, m)
	fill(t, r, func(block int, c record.Cell) []float64 {
		v := 10 + float64(block)/100
		if c.Condition.Workload == "dd" {
			v *= 1.1 // what tracing costs
		}
		return []float64{v}
	}, nil, func(s record.Sample) map[string]string {
		files := map[string]string{
			record.Diskstats: `{"t":0.5,"monotonic_ns":100500000000}` + "\n" + `{"t":1.5,"monotonic_ns":101500000000}` + "\n",
			record.Extents:   `{"files":4,"extents":4,"bytes":16777216}`,
		}
		if s.Condition.Filesystem == "xfs" {
			files[record.Extents] = `{"files":4,"extents":10,"discontiguities":6,"bytes":41943040}`
		}
		if s.Condition.Workload != "dd" {
			return files
		}
		if s.Arm == "patched" {
			files[record.Stalls] = fmt.Sprintf(`{"workload":"dd","op":"fsync","pid":77,"start_ns":112000000000,"length_ns":%d,"beside":15,"in_flight":32,"nr_writeback":4000}`, 4_480_000_000+s.Block)
			files[record.Stalls] += "\n" + `{"workload":"dd","op":"read","pid":78,"start_ns":113000000000,"length_ns":500000000}` + "\nnot whole"
			files[record.Bursts] = `{"w/s":{"bursts":5,"period_seconds":30,"spread":0.05,"base":100,"amplitude":15000,"burst_seconds":5},"r_await":{"bursts":2}}`
		} else {
			files[record.Stalls] = ""
			files[record.Bursts] = `{"w/s":{"bursts":5,"period_seconds":30,"spread":0.5,"base":100,"amplitude":15000,"burst_seconds":5}}`
		}
		files[record.Writeback] = `{"seconds":10,"events_lost":0,"held":[{"task":"dd","seconds":3,"pauses":15,"longest_seconds":0.2},{"task":"dd","seconds":1,"pauses":5,"longest_seconds":0.2}],
			"chunks":{"n":10,"pages":10240,"mean_pages":1024,"max_pages":2048},"depth":{"requests":500,"mean":10,"mean_busy":12.5,"max":32,"mean_bytes":524288},
			"series":[{"t":1,"held_seconds":0.5,"written_pages":1000,"chunk_pages":1000,"depth":3},{"t":2,"held_seconds":0.1,"written_pages":10,"chunk_pages":10,"depth":1}]}`
		return files
	})
	return r
}

func TestAside(t *testing.T) {
	r := asideRun(t)
	text, err := Markdown(r)
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, string(text))
	src, err := load(r)
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string]bool{}
	pictures, err := analyse(src).draw()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pictures {
		drawn[p.name] = true
	}
	if !drawn["writeback_sata_xfs_none_dd"] || drawn["writeback_sata_xfs_none_dd-untraced"] {
		t.Errorf("drawn: %v", drawn)
	}
	bare, traced, ok := strings.Cut(string(text), "## dd 10000 MiB, traced")
	if !ok {
		t.Fatal(string(text))
	}
	// The heading with a number follows: it is a level deeper.
	flat := strings.Join(strings.Fields(traced), " ")
	for _, want := range []string{
		"### Stalls",
		"| xfs | none | patched | 2 | 4.48 s | 4.98 s | 32 |",
		"| xfs | none | vanilla | 0 | - | - | - |",
		// 112 s on the clock, which showed 100 s at the beginning.
		"ext4 none, patched, block 3: 4.48 s of fsync by process 77, from 12.0 s on, 15 others beside it, 32 requests in flight, 4000 pages under writeback",
		"### Write storms",
		"| ext4 | none | patched | 3/3 | 30.0 s | 100 | 15000 | 5.0 s |",
		"### Fragmentation",
		"| xfs | none | vanilla | 4 | 2.50 | 4.19 MB | 1.50 |",
		"### What writeback did",
		"| xfs | none | vanilla | 4.00 s | 1024 | 12.5 | 524 kB |",
		"xfs none, vanilla: dd 4.00 s",
		"### What tracing cost",
		"+10.0 %",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	for _, not := range []string{"| ext4 | none | vanilla | 3/3", "### Swells of read latency"} {
		if strings.Contains(flat, not) {
			t.Errorf("the report has %q", not)
		}
	}
	if strings.Contains(bare, "### Stalls") || strings.Contains(bare, "### What") || !strings.Contains(bare, "### Fragmentation") {
		t.Errorf("of the workload without tracing it says:\n%s", bare)
	}
	if t.Failed() {
		t.Log(string(text))
	}
}

func FuzzAside(f *testing.F) {
	f.Add(`{"op":"read","start_ns":1,"length_ns":2}`)
	f.Add(`{"w/s":{"bursts":3}}`)
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, record.Stalls), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		keptLines[stall](dir, record.Stalls)
		var b map[string]bursts
		keptJSON(dir, record.Stalls, &b)
		var w flushing
		if keptJSON(dir, record.Stalls, &w) {
			heldTasks([]flushing{w})
		}
	})
}
