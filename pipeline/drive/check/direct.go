package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"spindle/internal/fault"
	"spindle/internal/nbd"
	"spindle/internal/proc"
	"spindle/internal/progress"
	"spindle/internal/unit"
	"spindle/pipeline/drive"
	"spindle/pipeline/drive/timing"
)

// Options are what a check may choose.
type Options struct {
	Seed uint64
	Each time.Duration // how long a load runs; 0 means 5 s
	Temp string        // where a private directory is made; "" is the system's
	Log  *progress.Log
}

// Row is one load.
type Row struct {
	Load     string  `json:"load"`
	Depth    int     `json:"depth"`
	Unit     string  `json:"unit"` // "MB/s", or "/s" for requests
	Model    float64 `json:"model"`
	Measured float64 `json:"measured"`
	Error    float64 `json:"error"` // measured / model - 1
	Bound    float64 `json:"bound"` // of the error, both ways; 0 where none is set
	Requests int     `json:"requests"`
	// How much before they were due answers were to leave, and how late they
	// were at that.
	Early       float64 `json:"early_seconds"`
	LatenessP50 float64 `json:"lateness_p50_seconds"`
	LatenessP99 float64 `json:"lateness_p99_seconds"`
}

// Over says whether the error is beyond the bound.
func (r Row) Over() bool { return r.Bound > 0 && max(r.Error, -r.Error) > r.Bound }

// Result is a check.
type Result struct {
	Drive   string `json:"drive"` // as drive.Spec.Describe has it
	Where   string `json:"where"` // "direct" or "guest"
	Urgency string `json:"urgency"`
	// Early is how much before they were due answers of 4 KiB left, to make up
	// for the way.
	Early time.Duration `json:"early_ns"`
	// Steal is the part of the host's CPU time that a hypervisor took, 0 to 1.
	// Answers are late by what it takes at the wrong moment.
	Steal float64 `json:"steal"`
	Rows  []Row   `json:"rows"`
}

// Over gives the rows whose error is beyond the bound.
func (r Result) Over() []Row {
	var out []Row
	for _, x := range r.Rows {
		if x.Over() {
			out = append(out, x)
		}
	}
	return out
}

// bound is what the error may be at depth 1. A solid-state drive answers in
// 0.1 ms, of which no host keeps as small a part.
func bound(s drive.Spec, depth int) float64 {
	d, err := s.Device()
	switch {
	case err != nil || depth > 1:
		return 0
	case d.Rotation <= 1:
		return 0.10
	}
	return 0.03
}

// bench is a drive served to fio, with a private directory for both.
type bench struct {
	spec  drive.Spec
	o     Options
	dev   drive.Device
	dir   string
	drive *drive.Drive
	tape  Tape
	uri   string
}

// Direct checks the drive over NBD, without a guest. Errors are the plan's for a
// Spec that cannot be checked, else the machinery's; an error beyond a bound is
// none of them, but in the Result.
//
// What the way to fio and back adds is measured first, with a drive that always
// takes the same time, for each size of request, and the drive answers that much
// early; see [drive.Drive.Gauge].
func Direct(ctx context.Context, s drive.Spec, o Options) (Result, error) {
	if o.Each == 0 {
		o.Each = 5 * time.Second
	}
	res := Result{Drive: s.Describe(), Where: "direct"}
	dev, err := s.Device()
	if err != nil {
		return res, err
	}
	if m, err := s.Model(o.Seed); err != nil {
		return res, err
	} else if m == nil {
		return res, fault.Planf("check drive %s: it has no timing to be checked", s.Profile)
	}
	dir, remove, err := proc.TempDir(ctx, o.Temp, "drive")
	if err != nil {
		return res, err
	}
	defer remove()
	b := bench{spec: s, o: o, dev: dev, dir: dir}
	all, stolen := cpuTime()
	early := map[unit.Size]time.Duration{}
	list := loads(min(dev.QueueDepth, 31))
	for i, j := range list {
		o.Log.Status(i, len(list), time.Duration(len(list)-i)*(o.Each+time.Second), "%s, depth %d", j.Name, j.Depth)
		if _, ok := early[j.Block]; !ok {
			err := b.with(ctx, 0, func() (err error) { early[j.Block], err = b.gauge(ctx, j.Block); return err })
			if err != nil {
				return res, fmt.Errorf("gauge the way to fio: %w", err)
			}
		}
		err = b.with(ctx, early[j.Block], func() error {
			row, err := b.one(ctx, j)
			row.Early = early[j.Block].Seconds()
			res.Rows = append(res.Rows, row)
			res.Urgency = b.drive.Stats().Urgency
			return errors.Join(err, b.drive.Err())
		})
		if err != nil {
			return res, fmt.Errorf("check %s: %w", j.Name, err)
		}
	}
	res.Early = early[4*unit.KiB]
	o.Log.Clear()
	if a, s := cpuTime(); a > all {
		res.Steal = (s - stolen) / (a - all)
	}
	return res, nil
}

// with runs f while a fresh drive is served.
func (b *bench) with(ctx context.Context, early time.Duration, f func() error) (err error) {
	b.drive, err = drive.New(b.spec, drive.Options{Seed: b.o.Seed, Early: drive.Early{Read: drive.Lead{Small: early}, Write: drive.Lead{Small: early}}, Tape: b.tape.Note})
	if err != nil {
		return err
	}
	defer b.drive.Close()
	uri, stop, err := serve(ctx, b.drive, b.drive.Export(), b.dir)
	if err != nil {
		return err
	}
	defer stop()
	b.uri = uri
	return f()
}

// fio runs a load, and says how long it took and what it did.
func (b *bench) fio(ctx context.Context, j Load, seconds time.Duration) (took time.Duration, bytes int64, count int, err error) {
	answer := filepath.Join(b.dir, "fio.json")
	args := append(j.args(b.dev.Size, seconds, b.o.Seed+1), "--ioengine=nbd", "--uri="+b.uri, "--output="+answer)
	if _, err := proc.Run(ctx, proc.Cmd{Path: "fio", Args: args}); err != nil {
		return 0, 0, 0, err
	}
	text, err := os.ReadFile(answer)
	if err != nil {
		return 0, 0, 0, err
	}
	return parse(text)
}

// gauge is what the way adds to a read of that many bytes that takes about as
// long as the drive does: copying 128 KiB takes 0.1 ms.
func (b *bench) gauge(ctx context.Context, block unit.Size) (time.Duration, error) {
	service := min(b.spec.RandomReadMean4K(), 10*time.Millisecond)
	b.drive.Gauge(service)
	took, _, count, err := b.fio(ctx, Load{RW: "randread", Block: block, Depth: 1}, 2*time.Second)
	b.drive.Gauge(0)
	if err != nil {
		return 0, err
	}
	if count == 0 {
		return 0, errors.New("fio read nothing")
	}
	return max(took/time.Duration(count)-service, 0), nil
}

// one runs one load against the drive, and then in virtual time.
func (b *bench) one(ctx context.Context, j Load) (Row, error) {
	b.tape.Rewind()
	b.drive.Timed(true)
	b.drive.ResetStats()
	took, bytes, count, err := b.fio(ctx, j, b.o.Each)
	if err != nil {
		return Row{}, err
	}
	b.drive.Timed(false)
	seen := b.tape.Rewind()
	m, err := b.spec.Model(b.o.Seed)
	if err != nil {
		return Row{}, err
	}
	virtual, err := replay(m, seen, j.Depth)
	if err != nil {
		return Row{}, err
	}
	moved, sectors := moves(seen)
	sent := unit.Size(sectors * timing.SectorSize)
	if moved == 0 || took <= 0 || virtual <= 0 || count != moved {
		return Row{}, fmt.Errorf("fio says %d requests in %v, and %d arrived: the load is not what it should be", count, took, moved)
	}
	l := b.drive.Stats().Lateness
	row := Row{
		Load: j.Name, Depth: j.Depth, Unit: "/s", Requests: moved, Bound: bound(b.spec, j.Depth),
		Model: float64(moved) / virtual.Seconds(), Measured: float64(count) / took.Seconds(),
		LatenessP50: l.P50.Seconds(), LatenessP99: l.P99.Seconds(),
	}
	if j.Bytes {
		row.Unit, row.Model, row.Measured = "MB/s", float64(sent)/virtual.Seconds()/1e6, float64(bytes)/took.Seconds()/1e6
	}
	row.Error = row.Measured/row.Model - 1
	return row, nil
}

// parse reads fio's JSON: how long the load ran, and what it did.
func parse(text []byte) (took time.Duration, bytes int64, count int, err error) {
	type side struct {
		Bytes   int64 `json:"io_bytes"`
		Total   int   `json:"total_ios"`
		Runtime int64 `json:"runtime"` // ms
	}
	var out struct {
		Jobs []struct {
			Error       int  `json:"error"`
			Read, Write side `json:"-"`
			R           side `json:"read"`
			W           side `json:"write"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return 0, 0, 0, fmt.Errorf("read fio's answer: %w", err)
	}
	if len(out.Jobs) != 1 || out.Jobs[0].Error != 0 {
		return 0, 0, 0, errors.New("read fio's answer: its one job failed")
	}
	j := out.Jobs[0]
	return time.Duration(max(j.R.Runtime, j.W.Runtime)) * time.Millisecond, j.R.Bytes + j.W.Bytes, j.R.Total + j.W.Total, nil
}

// serve serves b on a socket in dir until stop is called.
func serve(ctx context.Context, b nbd.Backend, o nbd.Options, dir string) (uri string, stop func(), err error) {
	path := filepath.Join(dir, "s")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return "", nil, fmt.Errorf("serve drive: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			// A client that leaves is not this package's business.
			all.Go(func() { nbd.Serve(ctx, conn, b, o) })
		}
	})
	return "nbd+unix:///?socket=" + path, func() {
		l.Close()
		cancel()
		all.Wait()
	}, nil
}
