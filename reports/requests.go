package reports

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"spindle/reports/internal/plots"
	"spindle/reports/record"
)

// requestLog is what a sample in virtual time has of every request to its drive
// (package uml says what is in it).
const requestLog = "requests.tsv.zst"

// requestBins is how many points a plot of requests has over its time. A run
// has a hundred thousand requests, and a page a thousand columns.
const requestBins = 500

// requests are those of one sample, in bins of time.
type requests struct {
	lba     plots.Series // GB, of the first request that arrived in a bin
	latency plots.Series // ms, the longest of those that were done in a bin; NaN where none was
	depth   plots.Series // mean number under way in a bin
}

// request is one line of the log, in ns and sectors.
type request struct{ arrived, done, lba int64 }

// readRequests reads a sample's log; a sample without one gives none.
func readRequests(dir string, arm int) (requests, error) {
	var out requests
	f, err := os.Open(filepath.Join(dir, requestLog))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	} else if err != nil {
		return out, err
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return out, fmt.Errorf("read %s: %w", requestLog, err)
	}
	defer z.Close()
	var all []request
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		r, err := parseRequest(lines.Text())
		if err != nil {
			return out, fmt.Errorf("read %s: %w", filepath.Join(dir, requestLog), err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		return out, fmt.Errorf("read %s: %w", filepath.Join(dir, requestLog), err)
	}
	return bin(all, arm), nil
}

func parseRequest(line string) (r request, err error) {
	f := strings.Split(line, "\t")
	if len(f) != 7 {
		return r, fmt.Errorf("%d columns in %q, want 7", len(f), line)
	}
	var n [5]int64
	for i, column := range []int{0, 1, 2, 4, 5} {
		if n[i], err = strconv.ParseInt(f[column], 10, 64); err != nil {
			return r, fmt.Errorf("column %d of %q: %w", column+1, line, err)
		}
	}
	if f[3] == "F" {
		n[3] = -1
	}
	return request{arrived: n[0], done: n[0] + n[1] + n[2], lba: n[3]}, nil
}

// bin puts requests into bins of equal time.
func bin(all []request, arm int) (out requests) {
	var end int64
	for _, r := range all {
		end = max(end, r.done)
	}
	if end == 0 {
		return out
	}
	width := float64(end) / requestBins
	at := func(t int64) int { return min(max(int(float64(t)/width), 0), requestBins-1) }
	var lba, latency, busy [requestBins]float64
	for i := range lba {
		lba[i], latency[i] = math.NaN(), math.NaN()
	}
	for _, r := range all {
		if i := at(r.arrived); r.lba >= 0 && math.IsNaN(lba[i]) {
			lba[i] = float64(r.lba) * 512 / 1e9
		}
		ms := float64(r.done-r.arrived) / 1e6
		if i := at(r.done); !(latency[i] >= ms) {
			latency[i] = ms
		}
		for i := at(r.arrived); i <= at(r.done); i++ {
			from, to := max(float64(r.arrived), float64(i)*width), min(float64(r.done), float64(i+1)*width)
			busy[i] += max(to-from, 0) / width
		}
	}
	out.lba.Arm, out.latency.Arm, out.depth.Arm = arm, arm, arm
	for i := range lba {
		x := (float64(i) + 0.5) * width / 1e9
		for _, p := range []struct {
			to *plots.Series
			y  float64
		}{{&out.lba, lba[i]}, {&out.latency, latency[i]}, {&out.depth, busy[i]}} {
			if !math.IsNaN(p.y) || p.to == &out.latency {
				p.to.X, p.to.Y = append(p.to.X, x), append(p.to.Y, p.y)
			}
		}
	}
	return out
}

// overRequests gives the plot of what the drive was asked under a condition, of
// the first sample of each arm that has it: more would hide each other.
func (a *analysis) overRequests(g group, c record.Condition) (plots.Lines, bool, error) {
	where := strings.Join(axesOf(g.conditions).labels(c), " ")
	if a.severalDrives() {
		where = c.Drive + " " + where
	}
	l := plots.Lines{Arms: a.armNames(), Title: plain(where + ", " + g.workload.Title + ": requests of the first sample of each arm")}
	panels := []plots.Panel{{Axis: "address, GB"}, {Axis: "longest, ms"}, {Axis: "under way"}}
	for i, arm := range a.manifest.Arms {
		for _, s := range a.cells[record.Cell{Arm: arm.Name, Condition: c}] {
			r, err := readRequests(a.sampleDir(s), i)
			if err != nil {
				return l, false, err
			}
			if len(r.depth.X) < 2 {
				continue
			}
			for j, s := range []plots.Series{r.lba, r.latency, r.depth} {
				panels[j].Series = append(panels[j].Series, s)
			}
			break
		}
	}
	for _, p := range panels {
		if len(p.Series) > 0 {
			l.Panels = append(l.Panels, p)
		}
	}
	return l, len(l.Panels) > 0, nil
}
