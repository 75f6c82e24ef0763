package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
	path := filepath.Join(dir, record.FsyncTester)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fsyncTester{}, nil
	}
	if err != nil {
		return fsyncTester{}, err
	}
	if info.Size() > latenciesMax {
		return fsyncTester{}, fmt.Errorf("read %s: larger than %d MiB", path, latenciesMax>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fsyncTester{}, err
	}
	var t fsyncTester
	if json.Unmarshal(data, &t) != nil {
		return fsyncTester{}, nil
	}
	return t, nil
}

// tails gives the pictures of a condition's latencies, by what they are of.
func (a *analysis) tails(g group, c record.Condition) (map[string]plots.Tail, error) {
	out := map[string]plots.Tail{}
	for i, arm := range a.manifest.Arms {
		for _, s := range a.cells[record.Cell{Arm: arm.Name, Condition: c}] {
			t, err := readTorture(a.sampleDir(s))
			if err != nil {
				return nil, err
			}
			for _, x := range []struct {
				what string
				of   []float64
			}{{"fsync", t.Fsyncs}, {"write", t.Writes}} {
				if len(x.of) == 0 {
					continue
				}
				p := out[x.what]
				if p.Boots == nil {
					p.Arms, p.What = a.armNames(), x.what+"s"
					p.Axis = x.what + " latency"
					p.Title = plain(a.label(g, c) + ", " + g.workload.Title + ": how long each " + x.what + " took; one line for each sample")
				}
				p.Boots = append(p.Boots, plots.Boot{Arm: i, Latencies: x.of})
				out[x.what] = p
			}
		}
	}
	return out, nil
}
