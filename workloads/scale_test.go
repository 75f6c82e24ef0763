package workloads

import (
	"strings"
	"testing"
)

// A machine an eighth as large: the mails' files with it, in the words of a plan.
func TestScaled(t *testing.T) {
	for _, tt := range []struct{ full, small string }{
		{"dd: {size: 10000MiB, conv: fsync}", "dd: {size: 1250MiB, conv: fsync}"},
		{"dd: {size: 5120000B, bs: 512B, oflag: dsync}", "dd: {size: 640000B, bs: 512B, oflag: dsync}"},
		{"dd: {size: 3MiB}", "dd: {size: 1MiB}"}, // whole blocks, and one at least
		{"fsync-tester: {}", "fsync-tester: {file: 1GiB, pause: 500ms, duration: 7.5s}"},
		{"fsync-tester: {write: 4KiB, pause: 20ms, duration: 4s}", "fsync-tester: {file: 1GiB, write: 4KiB, pause: 20ms, duration: 4s}"},
		{"ioperf: {}", "ioperf: {data: 6GiB, wal: 128MiB, checkpoint-writes: 12500, duration: 225s}"},
		{"read-to-pipe: {}", "read-to-pipe: {file: 640MiB}"},
		{"startup: {}", "startup: {files: 38, size: 7864320B, pause: 500ms}"},
		{"age: {}", "age: {size: 512KiB}"},
		{"create: {}", "create: {files: 1250}"},
		{"fio: {options: {rw: read, size: 1g, bs: 4k}}", "fio: {options: {rw: read, size: \"134217728\", bs: 4k}}"},
		{"{startup: {files: 8, size: 8MiB}, after: 8s, beside: [{dd: {size: 10GiB}}]}", "{startup: {files: 1, size: 1MiB, pause: 500ms}, after: 1s, beside: [{dd: {size: 1280MiB}}]}"},
	} {
		full, want := specs(t, "- "+tt.full)[0], specs(t, "- "+tt.small)[0]
		got, err := full.Scaled(1. / 8)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", tt.full, err)
		}
		if g, w := got.Title(), want.Title(); g != w || got.Space() != want.Space() || got.EstimateSeconds(1e8) != want.EstimateSeconds(1e8) {
			t.Errorf("%s:\n got %s, %s, %g s\nwant %s, %s, %g s", tt.full, g, got.Space(), got.EstimateSeconds(1e8), w, want.Space(), want.EstimateSeconds(1e8))
		}
		if same, err := full.Scaled(1); err != nil || same.Title() != full.Title() {
			t.Errorf("%s at full size: %s, %v", tt.full, same.Title(), err)
		}
	}
	for text, want := range map[string]string{
		"command: {run: x}": "command: cannot be scaled",
		"fio: {job: '[a]'}": "fio: job: the text of a job cannot be scaled",
		"{dd: {size: 1MiB}, beside: [{command: {run: x}}]}": "command: cannot be scaled",
	} {
		if _, err := specs(t, "- "+text)[0].Scaled(0.5); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
