package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"spindle/reports/internal/plots"
	"spindle/reports/record"
)

// fsyncTester is what fsync-tester leaves of each sample: every latency in
// seconds, in order.
type fsyncTester struct {
	Writes []float64 `json:"writes"`
	Fsyncs []float64 `json:"fsyncs"`
}

// latenciesMax bounds what is read of a file that came out of a guest.
const latenciesMax = 64 << 20

// readTorture reads it; none where a workload has no such file, or a guest
// died over it.
func readTorture(dir string) (fsyncTester, error) {
	data, err := readSmall(filepath.Join(dir, record.FsyncTester))
	if err != nil || data == nil {
		return fsyncTester{}, err
	}
	var t fsyncTester
	if json.Unmarshal(data, &t) != nil {
		return fsyncTester{}, nil
	}
	return t, nil
}

// readSmall reads a file that came out of a guest; nil where there is none.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > latenciesMax {
		return nil, fmt.Errorf("read %s: larger than %d MiB", path, latenciesMax>>20)
	}
	return os.ReadFile(path)
}

// fioHistograms is what is read of fio's json+ report: how many requests were
// in each bin of its latency histograms, by the middle of the bin in ns.
type fioHistograms struct {
	Jobs []struct {
		Read struct {
			Latency fioBins `json:"clat_ns"`
		} `json:"read"`
		Write struct {
			Latency fioBins `json:"clat_ns"`
		} `json:"write"`
		Sync struct {
			Latency fioBins `json:"lat_ns"`
		} `json:"sync"`
	} `json:"jobs"`
}

type fioBins struct {
	Bins map[string]int64 `json:"bins"`
}

// readFio gives the latencies of all jobs of a sample by what they are of: the
// completion of reads and writes, and fsyncs. A bin of fio's is 1.6 % wide.
func readFio(dir string) (map[string]plots.Boot, error) {
	data, err := readSmall(filepath.Join(dir, fioReport))
	if err != nil || data == nil {
		return nil, err
	}
	var rep fioHistograms
	if json.Unmarshal(data, &rep) != nil {
		return nil, nil
	}
	out := map[string]plots.Boot{}
	for _, j := range rep.Jobs {
		for what, bins := range map[string]map[string]int64{"read": j.Read.Latency.Bins, "write": j.Write.Latency.Bins, "fsync": j.Sync.Latency.Bins} {
			b := out[what]
			for _, ns := range slices.Sorted(maps.Keys(bins)) {
				if v, err := strconv.ParseFloat(ns, 64); err == nil && v >= 0 && bins[ns] > 0 {
					b.Latencies, b.Counts = append(b.Latencies, v/1e9), append(b.Counts, bins[ns])
				}
			}
			out[what] = b
		}
	}
	return out, nil
}

// fioReport is fio's report among a sample's raw files.
const fioReport = "fio.json"

// latencyKinds are what latencies are of, in the order of the report.
var latencyKinds = [...]string{"fsync", "write", "read"}

// latencies gives those of a sample, from whichever program measured them.
func latencies(dir string) (map[string]plots.Boot, error) {
	t, err := readTorture(dir)
	if err != nil {
		return nil, err
	}
	if len(t.Fsyncs)+len(t.Writes) > 0 {
		return map[string]plots.Boot{"fsync": {Latencies: t.Fsyncs}, "write": {Latencies: t.Writes}}, nil
	}
	return readFio(dir)
}

// tails gives the pictures of a condition's latencies, by what they are of.
func (a *analysis) tails(g group, c record.Condition) (map[string]plots.Tail, error) {
	out := map[string]plots.Tail{}
	for i, arm := range a.manifest.Arms {
		for _, s := range a.cells[record.Cell{Arm: arm.Name, Condition: c}] {
			boots, err := latencies(a.sampleDir(s))
			if err != nil {
				return nil, err
			}
			for what, b := range boots {
				if len(b.Latencies) == 0 {
					continue
				}
				p := out[what]
				if p.Boots == nil {
					p.Arms, p.What = a.armNames(), what+"s"
					p.Axis = what + " latency"
					p.Title = plain(a.label(g, c) + ", " + g.workload.Title + ": how long each " + what + " took; one line for each sample")
				}
				b.Arm = i
				p.Boots = append(p.Boots, b)
				out[what] = p
			}
		}
	}
	return out, nil
}
