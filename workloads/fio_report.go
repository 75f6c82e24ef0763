package workloads

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"syscall"

	"spindle/reports/record"
)

// fioReport is what is read of fio's JSON (json+ of fio 3).
type fioReport struct {
	Version string   `json:"fio version"`
	Jobs    []fioJob `json:"jobs"`
}

// fioJob is a job, or one of its clones: clones have the same name.
type fioJob struct {
	Name  string  `json:"jobname"`
	Error int     `json:"error"` // an errno
	Read  fioSide `json:"read"`
	Write fioSide `json:"write"`
	Sync  struct {
		Latency fioLatency `json:"lat_ns"`
	} `json:"sync"`
}

type fioSide struct {
	Bandwidth float64    `json:"bw_bytes"` // B/s
	IOPS      float64    `json:"iops"`
	Latency   fioLatency `json:"clat_ns"`
}

// fioLatency is in nanoseconds. Bins is fio's histogram: the middle of each bin
// and how many were in it.
type fioLatency struct {
	Max  float64          `json:"max"`
	Mean float64          `json:"mean"`
	N    int64            `json:"N"`
	Bins map[string]int64 `json:"bins"`
}

// parseFio finds the report in what fio printed, and gives its text too. fio
// prints warnings to the same place, before and after it.
func parseFio(said []byte) (rep fioReport, raw []byte, err error) {
	first := errors.New("no JSON in it")
	for at := 0; at < len(said); {
		if said[at] == '{' {
			d := json.NewDecoder(bytes.NewReader(said[at:]))
			var r fioReport
			derr := d.Decode(&r)
			if derr == nil && len(r.Jobs) > 0 {
				return r, said[at : at+int(d.InputOffset())], nil
			}
			if derr != nil && first.Error() == "no JSON in it" {
				first = derr
			}
		}
		next := bytes.IndexByte(said[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return fioReport{}, nil, fmt.Errorf("read fio's report: %w; it printed %q", first, tailOf(string(said), 200))
}

// failed gives the first error of a job, or nil.
func (r fioReport) failed() error {
	for _, j := range r.Jobs {
		if j.Error != 0 {
			return fmt.Errorf("fio job %s: %w", j.Name, syscall.Errno(j.Error))
		}
	}
	return nil
}

// fioMetrics gives the metrics of a job file in the order of its jobs. With
// more than one job, names begin with the job's.
func fioMetrics(sections []fioSection) []record.MetricInfo {
	var ms []record.MetricInfo
	for _, s := range sections {
		prefix := ""
		if len(sections) > 1 {
			prefix = s.name + ": "
		}
		add := func(name, unit string, d record.Direction) {
			ms = append(ms, record.MetricInfo{Name: prefix + name, Unit: unit, Direction: d})
		}
		side := func(name string) {
			add(name+" bandwidth", "B/s", record.Higher)
			add(name+" iops", "1/s", record.Higher)
			for _, q := range []string{" mean", " p50", " p99", " p99.9", " max"} {
				add(name+q, "s", record.Lower)
			}
		}
		if s.reads() {
			side("read")
		}
		if s.writes() {
			side("write")
		}
		if s.syncs() {
			for _, q := range []string{" p50", " p99", " max"} {
				add("fsync"+q, "s", record.Lower)
			}
		}
	}
	return ms
}

// metrics gives the values of fioMetrics by name.
func (r fioReport) metrics(sections []fioSection) (map[string]float64, error) {
	out := make(map[string]float64)
	for _, s := range sections {
		prefix := ""
		if len(sections) > 1 {
			prefix = s.name + ": "
		}
		var clones []fioJob
		for _, j := range r.Jobs {
			if j.Name == s.name {
				clones = append(clones, j)
			}
		}
		if len(clones) == 0 {
			return nil, fmt.Errorf("read fio's report: no job %s in it", s.name)
		}
		side := func(name string, of func(fioJob) fioSide) error {
			var sum fioSide
			for _, c := range clones {
				one := of(c)
				sum.Bandwidth += one.Bandwidth
				sum.IOPS += one.IOPS
				if err := sum.Latency.add(one.Latency); err != nil {
					return err
				}
			}
			if sum.Latency.N == 0 {
				return fmt.Errorf("read fio's report: job %s made no %s", s.name, name)
			}
			out[prefix+name+" bandwidth"] = sum.Bandwidth
			out[prefix+name+" iops"] = sum.IOPS
			out[prefix+name+" mean"] = sum.Latency.Mean / 1e9
			return sum.Latency.quantiles(out, prefix+name)
		}
		if s.reads() {
			if err := side("read", func(j fioJob) fioSide { return j.Read }); err != nil {
				return nil, err
			}
		}
		if s.writes() {
			if err := side("write", func(j fioJob) fioSide { return j.Write }); err != nil {
				return nil, err
			}
		}
		if s.syncs() {
			var sum fioLatency
			for _, c := range clones {
				if err := sum.add(c.Sync.Latency); err != nil {
					return nil, err
				}
			}
			if sum.N == 0 {
				return nil, fmt.Errorf("read fio's report: job %s made no fsync", s.name)
			}
			if err := sum.quantiles(out, prefix+"fsync"); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// add puts another clone's latencies in.
func (l *fioLatency) add(o fioLatency) error {
	var in int64
	for _, n := range o.Bins {
		if n < 0 {
			return errors.New("read fio's report: negative count in a histogram")
		}
		in += n
	}
	if o.N < 0 || in != o.N {
		return fmt.Errorf("read fio's report: histogram of %d latencies has %d in its bins", o.N, in)
	}
	if o.N == 0 {
		return nil
	}
	l.Mean = (l.Mean*float64(l.N) + o.Mean*float64(o.N)) / float64(l.N+o.N)
	l.N += o.N
	l.Max = max(l.Max, o.Max)
	if l.Bins == nil {
		l.Bins = make(map[string]int64)
	}
	for k, n := range o.Bins {
		l.Bins[k] += n
	}
	return nil
}

// quantiles sets the percentiles and the maximum under name, in seconds.
func (l fioLatency) quantiles(out map[string]float64, name string) error {
	type bin struct {
		ns float64
		n  int64
	}
	bins := make([]bin, 0, len(l.Bins))
	for k, n := range l.Bins {
		ns, err := strconv.ParseFloat(k, 64)
		if err != nil || math.IsNaN(ns) {
			return fmt.Errorf("read fio's report: histogram bin %q", k)
		}
		bins = append(bins, bin{ns, n})
	}
	slices.SortFunc(bins, func(a, b bin) int {
		switch {
		case a.ns < b.ns:
			return -1
		case a.ns > b.ns:
			return 1
		}
		return 0
	})
	// fio's percentile: the first bin with which p percent are reached
	// (calc_clat_percentiles in stat.c).
	percentile := func(p float64) float64 {
		seen := int64(0)
		for _, b := range bins {
			seen += b.n
			if float64(seen) >= p/100*float64(l.N) {
				return b.ns / 1e9
			}
		}
		return l.Max / 1e9
	}
	out[name+" p50"] = percentile(50)
	out[name+" p99"] = percentile(99)
	out[name+" p99.9"] = percentile(99.9)
	out[name+" max"] = l.Max / 1e9
	return nil
}
