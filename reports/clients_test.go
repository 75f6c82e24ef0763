package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spindle/reports/record"
)

// clientsRun asks a drive by 1, 3 and 10 processes: throughput rises and then
// falls, for the second arm earlier.
func clientsRun(t testing.TB) *record.Run {
	m := testManifest("clients", "vanilla", "limits")
	rate := map[string]map[string]float64{
		"vanilla": {"create-1": 200, "create-3": 500, "create-10": 900},
		"limits":  {"create-1": 200, "create-3": 600, "create-10": 400},
	}
	var ws []record.Workload
	for _, n := range []int{10, 1, 3} {
		ws = append(ws, record.Workload{
			Name: fmt.Sprintf("create-%d", n), Title: fmt.Sprintf("create 1000 files by %d processes", n), Clients: n, Alike: "create",
			Metrics: []record.MetricInfo{runtime, {Name: "files", Unit: "1/s", Direction: record.Higher}},
		})
	}
	cross(&m, 3, []string{"sata"}, []string{"xfs"}, []string{"none"}, append(ws, dd)...)
	r := create(t, m)
	dds := ddValues(88, nil)
	fill(t, r, func(block int, c record.Cell) []float64 {
		if c.Condition.Workload == "dd" {
			return dds(block, c)
		}
		v := rate[c.Arm][c.Condition.Workload] * noise(0.02, block, c)
		return []float64{1000 / v, v}
	}, nil)
	return r
}

func TestAgainstClients(t *testing.T) {
	r := clientsRun(t)
	got, err := Markdown(r)
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, string(got))
	_, section, ok := strings.Cut(string(got), "## Against the number of clients\n")
	if !ok {
		t.Fatalf("no section:\n%s", got)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	at := -1
	for _, want := range []string{"Files in 1/s, more is better.", "|       1 |", "|       3 |", "|      10 |", "-56", "Best: vanilla with 10, limits with 3."} {
		i := strings.Index(section, want)
		if i <= at {
			t.Errorf("%q is not there, or not in its place:\n%s", want, section)
		}
		at = i
	}
	if _, err := Write(r.Dir()); err != nil {
		t.Fatal(err)
	}
	name := record.Slug("clients", "sata", "xfs", "none", "create-1")
	svg, err := os.ReadFile(filepath.Join(r.Dir(), name+".svg"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(svg), ">clients</text>") {
		t.Error("the plot has no axis of clients")
	}
	if out := os.Getenv("SPINDLE_TEST_PLOTS"); out != "" { // to look at it
		png, err := os.ReadFile(filepath.Join(r.Dir(), name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(out, "clients.png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fio's histogram gives the distribution of its latencies: 3 reads of 1 ms and
// one of 2 s over two jobs, and no writes.
func TestFioLatencies(t *testing.T) {
	dir := t.TempDir()
	text := `{"fio version": "fio-3.33", "jobs": [
		{"jobname": "a", "read": {"clat_ns": {"N": 3, "bins": {"1003520": 2, "2000000000": 1}}}, "write": {"clat_ns": {"N": 0}}, "sync": {"lat_ns": {"N": 0}}},
		{"jobname": "b", "read": {"clat_ns": {"N": 1, "bins": {"1003520": 1}}}, "write": {}, "sync": {}}]}`
	if err := os.WriteFile(filepath.Join(dir, fioReport), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := latencies(dir)
	if err != nil {
		t.Fatal(err)
	}
	count := map[float64]int64{}
	for i, v := range got["read"].Latencies {
		count[v] += got["read"].Counts[i]
	}
	if count[0.00100352] != 3 || count[2] != 1 || len(count) != 2 || len(got["write"].Latencies) != 0 {
		t.Errorf("latencies are %+v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, fioReport), []byte("{cut"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := latencies(dir); err != nil || len(got) != 0 {
		t.Errorf("of a report that was cut: %v, %v", got, err)
	}
}
