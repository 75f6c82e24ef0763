package workloads

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func fioSpec(t testing.TB, job string) []fioSection {
	t.Helper()
	s, err := parseFioJob(job)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// One job: every number must be the one that fio itself worked out.
func TestFioReport(t *testing.T) {
	said, err := os.ReadFile("testdata/fio-one.json")
	if err != nil {
		t.Fatal(err)
	}
	rep, raw, err := parseFio(said)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(raw) || rep.Version != "fio-3.33" {
		t.Errorf("version %q, valid JSON %t", rep.Version, json.Valid(raw))
	}
	got, err := rep.metrics(fioSpec(t, "[job]\nrw=randrw\nfsync=4\n"))
	if err != nil {
		t.Fatal(err)
	}
	type latency struct {
		Mean, Max  float64
		Percentile map[string]float64
	}
	var own struct {
		Jobs []struct {
			Read, Write struct {
				BW   float64 `json:"bw_bytes"`
				IOPS float64 `json:"iops"`
				Lat  latency `json:"clat_ns"`
			}
			Sync struct {
				Lat latency `json:"lat_ns"`
			}
		}
	}
	if err := json.Unmarshal(said, &own); err != nil {
		t.Fatal(err)
	}
	j := own.Jobs[0]
	want := map[string]float64{
		"read bandwidth": j.Read.BW, "read iops": j.Read.IOPS, "read mean": j.Read.Lat.Mean / 1e9,
		"write bandwidth": j.Write.BW, "write iops": j.Write.IOPS, "write mean": j.Write.Lat.Mean / 1e9,
	}
	for name, l := range map[string]latency{"read": j.Read.Lat, "write": j.Write.Lat, "fsync": j.Sync.Lat} {
		want[name+" p50"] = l.Percentile["50.000000"] / 1e9
		want[name+" p99"] = l.Percentile["99.000000"] / 1e9
		want[name+" p99.9"] = l.Percentile["99.900000"] / 1e9
		want[name+" max"] = l.Max / 1e9
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("metrics (-fio's own +ours):\n%s", diff)
	}
}

// Clones of a job are added up, other jobs are kept apart.
func TestFioClones(t *testing.T) {
	side := func(bw, iops, mean, max float64, bins string, n int) string {
		return strings.NewReplacer("BW", num(bw), "IOPS", num(iops), "MEAN", num(mean), "MAX", num(max), "BINS", bins, "COUNT", num(float64(n))).
			Replace(`{"bw_bytes": BW, "iops": IOPS, "clat_ns": {"mean": MEAN, "max": MAX, "N": COUNT, "bins": BINS}}`)
	}
	said := `{"jobs": [
		{"jobname": "w", "error": 0, "write": ` + side(1000, 10, 2e6, 5e6, `{"1000000": 8, "5000000": 2}`, 10) + `},
		{"jobname": "r", "error": 0, "read": ` + side(9, 9, 9, 9, `{"9": 9}`, 9) + `},
		{"jobname": "w", "error": 0, "write": ` + side(3000, 30, 4e6, 9e6, `{"1000000": 1, "9000000": 29}`, 30) + `}
	]}`
	rep, _, err := parseFio([]byte(said))
	if err != nil {
		t.Fatal(err)
	}
	got, err := rep.metrics(fioSpec(t, "[w]\nrw=write\nnumjobs=2\n[r]\nrw=read\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"w: write bandwidth": 4000, "w: write iops": 40, "w: write mean": 3.5e-3, "w: write max": 9e-3,
		// 40 values: 9 at 1 ms, 2 at 5 ms, 29 at 9 ms.
		"w: write p50": 9e-3, "w: write p99": 9e-3, "w: write p99.9": 9e-3,
		"r: read bandwidth": 9, "r: read iops": 9, "r: read mean": 9e-9, "r: read max": 9e-9,
		"r: read p50": 9e-9, "r: read p99": 9e-9, "r: read p99.9": 9e-9,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func num(f float64) string {
	b, _ := json.Marshal(f)
	return string(b)
}

// A real report of two clones and another job has all that is announced.
func TestFioAnnounced(t *testing.T) {
	said, err := os.ReadFile("testdata/fio-clones.json")
	if err != nil {
		t.Fatal(err)
	}
	rep, _, err := parseFio(said)
	if err != nil {
		t.Fatal(err)
	}
	sections := fioSpec(t, "[global]\nioengine=psync\nsize=1m\n[w]\nrw=randrw\nfsync=8\nnumjobs=2\n[r]\nrw=read\n")
	got, err := rep.metrics(sections)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fioMetrics(sections) {
		if v, ok := got[m.Name]; !ok || v <= 0 {
			t.Errorf("%s: %g, %t", m.Name, v, ok)
		}
	}
}

// fio mixes its warnings with its report.
func TestFioNoise(t *testing.T) {
	one, err := os.ReadFile("testdata/fio-one.json")
	if err != nil {
		t.Fatal(err)
	}
	noisy := slicesConcat([]byte("note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1\n{ not JSON\n"), one, []byte("\nfio: something at the end\n"))
	_, raw, err := parseFio(noisy)
	if err != nil || !bytes.Equal(raw, bytes.TrimSpace(one)) {
		t.Errorf("report %d bytes of %d: %v", len(raw), len(one), err)
	}
	for _, bad := range []string{"", "fio: fatal", `{"jobs": []}`, `{"fio version": "fio-3.33"`, "[]"} {
		if _, _, err := parseFio([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "read fio's report: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func slicesConcat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestFioReportRefused(t *testing.T) {
	sections := fioSpec(t, "[job]\nrw=read\n")
	for _, tt := range []struct{ said, want string }{
		{`{"jobs": [{"jobname": "other"}]}`, "no job job in it"},
		{`{"jobs": [{"jobname": "job"}]}`, "job job made no read"},
		{`{"jobs": [{"jobname": "job", "read": {"clat_ns": {"N": 2, "bins": {"1": 1}}}}]}`, "histogram of 2 latencies has 1 in its bins"},
		{`{"jobs": [{"jobname": "job", "read": {"clat_ns": {"N": 1, "bins": {"x": 1}}}}]}`, `histogram bin "x"`},
		{`{"jobs": [{"jobname": "job", "read": {"clat_ns": {"N": 0, "bins": {"1": 1, "2": -1}}}}]}`, "negative count"},
	} {
		rep, _, err := parseFio([]byte(tt.said))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rep.metrics(sections); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.said, err, tt.want)
		}
	}
	rep, _, err := parseFio([]byte(`{"jobs": [{"jobname": "job", "error": 28}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.failed(); err == nil || err.Error() != "fio job job: no space left on device" {
		t.Errorf("failed: %v", err)
	}
}

func TestFioText(t *testing.T) {
	f := Fio{Options: map[string]string{"size": "1m", "rw": "write", "ioengine": "libaio", "bs": "4k"}}
	if got, want := f.text(), "[job]\nioengine=libaio\nbs=4k\nrw=write\nsize=1m\n"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	f = Fio{Job: "[a]\nrw=read\n\n\n"}
	if got, want := f.text(), "[a]\nrw=read\n"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

// What fio takes a size for is in fio(1), "int": its own -parse-only agrees.
func TestFioUnits(t *testing.T) {
	for v, want := range map[string]int64{"0": 0, "4096": 4096, "4k": 4096, "4K": 4096, "64m": 64 << 20, "1g": 1 << 30, "2t": 2 << 40} {
		if got, ok := fioBytes(v); !ok || got != want {
			t.Errorf("fioBytes(%q) = %d, %t; want %d", v, got, ok, want)
		}
	}
	for _, v := range []string{"", "k", "10%", "-1", "99999999999g", "4kk", "1z"} {
		if got, ok := fioBytes(v); ok {
			t.Errorf("fioBytes(%q) = %d", v, got)
		}
	}
	for v, want := range map[string]float64{"30": 30, "30s": 30, "2m": 120, "1h": 3600, "500ms": 0.5, "1d": 86400, "": 0, "x": 0, "-1": 0} {
		if got := fioSeconds(v); got != want {
			t.Errorf("fioSeconds(%q) = %g, want %g", v, got, want)
		}
	}
	for v, wrong := range map[string]bool{"4k": false, "4KiB": true, "4kb": true, "4k,8kB": true, "64MB": true, "/data/4kb.img": true, "randread": false, "1:2": false, "read": false} {
		if err := checkFioSize("bs", v); (err != nil) != wrong {
			t.Errorf("checkFioSize(%q) = %v", v, err)
		}
	}
	if err := checkFioSize("filename", "disk4kb"); err != nil {
		t.Error(err)
	}
}

func FuzzParseFio(f *testing.F) {
	for _, name := range []string{"testdata/fio-one.json", "testdata/fio-clones.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"jobs": [{"jobname": "w", "error": 28, "write": {"clat_ns": {"N": 1, "bins": {"1e300": 1}}}}]}`))
	sections := fioSpec(f, "[w]\nrw=randrw\nfsync=8\nnumjobs=2\n[r]\nrw=read\n")
	f.Fuzz(func(t *testing.T, said []byte) {
		rep, raw, err := parseFio(said)
		if err != nil {
			return
		}
		if !json.Valid(raw) {
			t.Errorf("raw text is no JSON: %q", raw)
		}
		rep.failed()
		rep.metrics(sections)
	})
}

func FuzzParseFioJob(f *testing.F) {
	f.Add("[global]\nsize=100m\n[w]\nrw=write\nnumjobs=2\n[r]\nstonewall\nrw=read\n")
	f.Add("; comment\n[a]\nreadwrite=randrw:4\nruntime=5m\ntime_based\nfilesize=9999999g\n")
	f.Fuzz(func(t *testing.T, job string) {
		s := Spec{Fio: &Fio{Job: job}}
		s.Title()
		s.Slug()
		if v := s.Space(); v < 0 {
			t.Errorf("space %d", v)
		}
		if v := s.EstimateSeconds(1e6); !(v >= 0) {
			t.Errorf("estimate %g", v)
		}
		if s.Validate() == nil && len(s.Metrics()) == 0 {
			t.Error("a valid job without metrics")
		}
	})
}
