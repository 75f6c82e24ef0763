package workloads

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/unit"
	"spindle/reports/record"
)

// DD is one GNU dd that writes zeros to one new file, or to the drive where
// there is no file system.
type DD struct {
	Size  unit.Size `yaml:"size" json:"size"`             // of the file: a multiple of BS
	BS    unit.Size `yaml:"bs" json:"bs,omitempty"`       // 0 is 1MiB
	Conv  string    `yaml:"conv" json:"conv,omitempty"`   // fsync, fdatasync, or none: one sync at the end, inside the timing
	Oflag string    `yaml:"oflag" json:"oflag,omitempty"` // dsync, sync or direct: how the file is opened
}

// ddFile is the file that dd makes.
const ddFile = "dd.out"

func (d *DD) bs() unit.Size {
	if d.BS == 0 {
		return unit.MiB
	}
	return d.BS
}

func (d *DD) conv() string {
	if d.Conv == "none" {
		return ""
	}
	return d.Conv
}

func (d *DD) validate() error {
	switch {
	case d.Size == 0:
		return errors.New("dd: size is missing: write how much it writes, such as size: 96MiB")
	case d.Size < 0 || d.BS < 0:
		return errors.New("dd: a size is negative")
	case d.bs() > 1*unit.GiB:
		return fmt.Errorf("dd: bs %s is more than dd can keep in memory: write at most 1GiB", d.BS)
	case d.Size%d.bs() != 0:
		return fmt.Errorf("dd: size %s is no multiple of bs %s: dd writes whole blocks", d.Size, d.bs())
	case !slices.Contains([]string{"", "none", "fsync", "fdatasync"}, d.Conv):
		return fmt.Errorf("dd: conv %q: there are fsync, fdatasync, none", d.Conv)
	case !slices.Contains([]string{"", "dsync", "sync", "direct"}, d.Oflag):
		return fmt.Errorf("dd: oflag %q: there are dsync, sync, direct", d.Oflag)
	case d.Oflag == "direct" && d.bs()%512 != 0:
		return fmt.Errorf("dd: bs %s with oflag: direct: direct writes are multiples of 512B", d.bs())
	}
	return nil
}

func (d *DD) title() string {
	t := "dd " + spaced(d.Size)
	if d.bs() != unit.MiB {
		t += " bs=" + d.BS.String()
	}
	if d.conv() != "" {
		t += " conv=" + d.conv()
	}
	if d.Oflag != "" {
		t += " oflag=" + d.Oflag
	}
	return t
}

func (d *DD) slug() string {
	s := "dd"
	for _, o := range []string{d.conv(), d.Oflag} {
		if o != "" {
			s += "-" + o
		}
	}
	return s
}

// syncedWrite is what a write takes that must be on the drive: from 0.4 ms behind
// a controller's cache to a turn of a disk and more.
const syncedWrite = 0.002 // s

func (d *DD) estimate(rate float64) float64 {
	s := float64(d.Size) / rate
	if d.Oflag == "dsync" || d.Oflag == "sync" {
		s += float64(d.Size/d.bs()) * syncedWrite
	}
	return s
}

func (d *DD) space() unit.Size { return d.Size }
func (d *DD) onDevice() bool   { return true }
func (d *DD) onFiles() bool    { return true }

func (d *DD) metrics() []record.MetricInfo {
	return []record.MetricInfo{
		{Name: "runtime", Unit: "s", Direction: record.Lower, Primary: true},
		{Name: "throughput", Unit: "B/s", Direction: record.Higher},
	}
}

func (d *DD) commands() []command {
	return []command{{name: "dd", version: []string{"--version"}, pack: "coreutils"}}
}

func (d *DD) prepare(context.Context, *run) error { return nil }

// args gives dd's operands. Numbers are plain: dd reads MB and M its own way.
func (d *DD) args(of string) []string {
	args := []string{
		"if=/dev/zero", "of=" + of,
		"bs=" + strconv.FormatInt(int64(d.bs()), 10),
		"count=" + strconv.FormatInt(int64(d.Size/d.bs()), 10),
	}
	if d.conv() != "" {
		args = append(args, "conv="+d.conv())
	}
	if d.Oflag != "" {
		args = append(args, "oflag="+d.Oflag)
	}
	return args
}

func (d *DD) measure(ctx context.Context, r *run) ([]record.Metric, error) {
	of := r.target
	if of == "" {
		of = filepath.Join(r.dir, ddFile)
	}
	err := r.execute(ctx, proc.Cmd{Path: "dd", Args: d.args(of), Env: append(os.Environ(), "LC_ALL=C")})
	if err != nil {
		return nil, err
	}
	said, err := os.ReadFile(r.out("stderr"))
	if err != nil {
		return nil, err
	}
	rep, err := parseDD(string(said))
	if err != nil {
		return nil, err
	}
	if rep.Bytes != int64(d.Size) && !r.wasAsked() {
		return nil, fault.New(fault.Kernel, "workload", fmt.Errorf("dd wrote %d of %d bytes and called it success", rep.Bytes, int64(d.Size)))
	}
	return r.values(rep.Seconds, float64(rep.Bytes)/rep.Seconds)
}

// ddReport is what dd says when it is done.
type ddReport struct {
	Bytes   int64
	Seconds float64 // six digits; from before the first read to after the sync of conv=
}

// parseDD reads the report of GNU dd (coreutils dd.c, print_stats):
//
//	96+0 records in
//	96+0 records out
//	100663296 bytes (101 MB, 96 MiB) copied, 0.0502 s, 2.0 GB/s
//
// The part in brackets is left out for small numbers.
func parseDD(text string) (ddReport, error) {
	for line := range strings.Lines(text) {
		amount, rest, ok := strings.Cut(strings.TrimSpace(line), " copied, ")
		if !ok {
			continue
		}
		count, unitWord, _ := strings.Cut(amount, " ")
		seconds, _, ok := strings.Cut(rest, " s, ")
		if !ok || !strings.HasPrefix(unitWord, "byte") {
			continue
		}
		n, err1 := strconv.ParseInt(count, 10, 64)
		s, err2 := strconv.ParseFloat(seconds, 64)
		if err1 != nil || err2 != nil || n < 0 || !(s > 0) || s > 1e9 {
			return ddReport{}, fmt.Errorf("read dd's report: %q", line)
		}
		return ddReport{n, s}, nil
	}
	return ddReport{}, fmt.Errorf("read dd's report: no line with \"copied\" in %q", tailOf(text, 200))
}
