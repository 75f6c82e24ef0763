package pipeline

import (
	"strings"
	"testing"
	"time"

	"spindle/internal/progress"
	"spindle/pipeline/machine"
	"spindle/reports/record"
)

// slowAndFast is a plan with two workloads of which one takes about ten times
// as long as the other.
const slowAndFast = `name: n
kernels: {k: {deb: linux-image-6.12-amd64}}
drives: {d: {profile: sata-7200, media-rate: 30MB/s}}
arms: {a: {kernel: k}, b: {kernel: k, mount: noatime}}
conditions: {filesystem: [ext4], scheduler: [bfq]}
workloads: [{name: fast, dd: {size: 300MiB}}, {name: slow, dd: {size: 3GiB}}]
repeat: 2
`

func cells(p *Plan) [][]record.Cell {
	var out [][]record.Cell
	for _, b := range Layout(p) {
		out = append(out, b.Cells)
	}
	return out
}

func TestPace(t *testing.T) {
	p := load(t, slowAndFast)
	blocks := cells(p)
	pace := newPace(p, &Kit{Accel: machine.TCG}, blocks)
	if pace.total != 8 || pace.done != 0 {
		t.Fatalf("%d of %d samples", pace.done, pace.total)
	}
	near := func(what string, want time.Duration) {
		t.Helper()
		if d := pace.remaining() - want; d < -time.Millisecond || d > time.Millisecond {
			t.Errorf("%s: %v left, want %v", what, pace.remaining(), want)
		}
	}
	o := AssumedOverhead("tcg")
	near("at first", Estimate(p, o))
	if kvm := newPace(p, &Kit{Accel: machine.KVM}, blocks); kvm.remaining() != Estimate(p, AssumedOverhead("kvm")) {
		t.Errorf("with KVM %v", kvm.remaining())
	}

	// What an earlier session made says nothing of how long things take now.
	first := blocks[0][0]
	pace.had(first)
	left := Estimate(p, o) - p.EstimateCell(first, o)
	near("one was there", left)

	// Twice as long as expected: so will be the rest, each by its own estimate.
	log := progress.New(&strings.Builder{}, false, time.Now)
	second := blocks[0][1]
	pace.did(log, record.Sample{Cell: second, Outcome: record.Outcome{Kind: record.OK}}, 2*p.EstimateCell(second, o))
	left -= p.EstimateCell(second, o)
	near("one took twice as long", 2*left)

	// The correction is that of all samples so far, weighted by their length.
	third := blocks[0][2]
	pace.did(log, record.Sample{Cell: third, Outcome: record.Outcome{Kind: record.OK}}, p.EstimateCell(third, o))
	left -= p.EstimateCell(third, o)
	twice, once := p.EstimateCell(second, o), p.EstimateCell(third, o)
	near("and one as expected", time.Duration(float64(left)*float64(2*twice+once)/float64(twice+once)))

	for _, b := range [][]record.Cell{blocks[0][3:], blocks[1]} {
		for _, c := range b {
			pace.did(log, record.Sample{Cell: c, Outcome: record.Outcome{Kind: record.OK}}, time.Second)
		}
	}
	near("at the end", 0)
	if pace.done != 8 {
		t.Errorf("%d samples done, want 8", pace.done)
	}
}

func TestPaceTells(t *testing.T) {
	p := load(t, slowAndFast)
	blocks := cells(p)
	var out strings.Builder
	log := progress.New(&out, false, func() time.Time { return time.Unix(0, 0) })
	pace := newPace(p, &Kit{Accel: machine.TCG}, blocks)
	cell := record.Cell{Arm: "b", Condition: record.Condition{Drive: "d", Filesystem: "ext4", Scheduler: "bfq", Workload: "slow"}}
	pace.next(log, 1, cell)
	pace.did(log, record.Sample{Block: 1, Cell: cell, Outcome: record.Outcome{Kind: record.OK}}, time.Minute)
	pace.did(log, record.Sample{Block: 2, Cell: cell, Outcome: record.Outcome{Kind: record.KernelFault, Reason: "panic", Detail: "Fatal exception"}}, time.Minute)
	pace.did(log, record.Sample{Block: 2, Cell: cell, Outcome: record.Outcome{Kind: record.KernelFault, Reason: "hang"}}, time.Minute)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "[0/8] block 1: d ext4 bfq slow, b, ") || !strings.HasSuffix(lines[0], " left") {
		t.Errorf("said\n%s", out.String())
	}
	if lines[1] != "block 2, d ext4 bfq slow, b: panic: Fatal exception" || lines[2] != "block 2, d ext4 bfq slow, b: hang" {
		t.Errorf("of failures: %q", lines[1:])
	}
}
