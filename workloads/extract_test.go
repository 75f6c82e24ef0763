package workloads

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Numbers in the outputs that programs really print.
func TestExtract(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	// fio's report as any other program's.
	var fio struct {
		Jobs []struct {
			Read struct {
				IOPS float64 `json:"iops"`
			} `json:"read"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(read("testdata/fio-one.json")), &fio); err != nil {
		t.Fatal(err)
	}
	const dd = "10000+0 records in\n10000+0 records out\n5120000 bytes (5.1 MB, 4.9 MiB) copied, 58.0915 s, 88.1 kB/s\n"
	// Mail of 20 Apr 2011 (Vivek Goyal), first run.
	const tester = "starting fsync run\nstarting random io!\nwrite time: 0.0006s fsync time: 0.3400s\nwrite time: 63.3270s fsync time: 0.3760s\nrun done 2 fsyncs total, killing random writer\n"
	// The same of Chris Mason's own build.
	const mason = "write time 0.0009s fsync time: 2.0142s\nwrite time 128.9305s fsync time: 2.6046s\n"
	const form = `write time:? ([0-9.]+)s fsync time: (?:[0-9.]+)s`
	for _, tt := range []struct {
		m    Extract
		text string
		want float64
	}{
		{Extract{Regex: `copied, ([0-9.]+) s`}, dd, 58.0915},
		{Extract{Regex: `, ([0-9.]+) kB/s`, Scale: 1000}, dd, 88100},
		{Extract{Regex: form, Take: "max"}, tester, 63.3270},
		{Extract{Regex: form, Take: "first"}, tester, 0.0006},
		{Extract{Regex: form, Take: "sum"}, mason, 128.9314},
		{Extract{Regex: form, Take: "last"}, mason, 128.9305},
		{Extract{Regex: form, Take: "mean"}, mason, 64.4657},
		{Extract{Regex: form, Take: "min"}, mason, 0.0009},
		{Extract{JSON: "jobs[0].read.iops"}, "fio: a warning\n" + read("testdata/fio-one.json"), fio.Jobs[0].Read.IOPS},
		{Extract{JSON: "a[1][0].b"}, `{"a": [1, [{"b": 1e3}]]}`, 1000},
		{Extract{JSON: "a[*].b", Take: "sum"}, `{"a": [{"b": 1}, {"b": "2.5"}, {"c": 9}]}`, 3.5},
	} {
		got, err := tt.m.find([]byte(tt.text))
		if err != nil || got < tt.want*(1-1e-12) || got > tt.want*(1+1e-12) {
			t.Errorf("%+v: %g, %v; want %g", tt.m, got, err, tt.want)
		}
	}
	for _, tt := range []struct {
		m          Extract
		text, want string
	}{
		{Extract{Regex: form}, tester, "there are 2 in the output: say with take: which of them"},
		{Extract{Regex: `p99 ([0-9]+)`}, tester, "there is none in the output"},
		{Extract{Regex: `(fsync)`}, "fsync", `"fsync" is no number`},
		{Extract{JSON: "a"}, "no braces", "there is no JSON in the output"},
		{Extract{JSON: "a"}, "{", "unexpected EOF"},
		{Extract{JSON: "a.b"}, `{"a": {"c": 1}}`, "json a.b: nothing at its part 2"},
		{Extract{JSON: "a[3]"}, `{"a": [1]}`, "json a[3]: nothing at its part 2"},
		{Extract{JSON: "a"}, `{"a": true}`, "json a: true is no number"},
		{Extract{JSON: "a"}, `{"a": "x"}`, "invalid syntax"},
		{Extract{JSON: "a"}, `{"a": "Inf"}`, "it is +Inf"},
	} {
		if _, err := tt.m.find([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.m, err, tt.want)
		}
	}
}

func FuzzExtract(f *testing.F) {
	f.Add("a[0].b", `{"a": [{"b": 1}]}`)
	f.Add("a[*]", `x
[1, 2]`)
	f.Add("a", `{"a": "1e400"}`)
	f.Fuzz(func(t *testing.T, path, text string) {
		for _, take := range append(takes, "") {
			Extract{JSON: path, Take: take}.find([]byte(text))
		}
	})
}
