package workloads

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"spindle/internal/unit"
)

// fioSection is one job of a job file, with what it has from [global].
type fioSection struct {
	name    string
	options map[string]string // by fio's name; a flag without a value has "1"
}

// fioAliases are options under the names that fio knows them by too (fio's
// options.c).
var fioAliases = map[string]string{
	"readwrite": "rw",
	"blocksize": "bs",
	"timeout":   "runtime",
}

// parseFioJob reads a job file (fio(1), JOB FILE FORMAT): sections in brackets,
// "name=value" lines, comments with ; or #. A section whose name begins with
// "global" sets what the jobs after it start from.
func parseFioJob(text string) ([]fioSection, error) {
	global := map[string]string{}
	var sections []fioSection
	var current map[string]string
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == ';' || line[0] == '#':
			continue
		case strings.ContainsAny(line, "\x00\r"):
			return nil, fmt.Errorf("job line %d: control characters", n)
		case strings.HasPrefix(line, "include "):
			return nil, fmt.Errorf("job line %d: include: the file would not be in the guest; put its text here", n)
		case line[0] == '[':
			name, rest, ok := strings.Cut(line[1:], "]")
			if !ok || name == "" || strings.TrimSpace(rest) != "" {
				return nil, fmt.Errorf("job line %d: %q is no [section]", n, line)
			}
			if strings.HasPrefix(name, "global") {
				current = global
				continue
			}
			if slices.ContainsFunc(sections, func(s fioSection) bool { return s.name == name }) {
				return nil, fmt.Errorf("job line %d: there is a job %s already", n, name)
			}
			current = make(map[string]string, len(global))
			for k, v := range global {
				current[k] = v
			}
			sections = append(sections, fioSection{name, current})
		case current == nil:
			return nil, fmt.Errorf("job line %d: %q stands before the first [section]", n, line)
		default:
			key, value, ok := strings.Cut(line, "=")
			key, value = strings.TrimSpace(key), strings.TrimSpace(value)
			if !ok {
				value = "1"
			}
			if alias, ok := fioAliases[key]; ok {
				key = alias
			}
			if err := checkFioSize(key, value); err != nil {
				return nil, fmt.Errorf("job line %d: %w", n, err)
			}
			current[key] = value
		}
	}
	if len(sections) == 0 {
		return nil, errors.New("job has no [section] with a job")
	}
	return sections, nil
}

// otherUnits are sizes whose unit fio takes for something else than it says:
// with its default kb_base=1024, 4KiB is 4000 bytes and 4kB is 4096.
var otherUnits = regexp.MustCompile(`(?i)(^|[^a-z0-9])[0-9.]+[kmgtp]i?b([^a-z0-9]|$)`)

func checkFioSize(key, value string) error {
	if strings.HasSuffix(key, "filename") || key == "description" || key == "directory" || !otherUnits.MatchString(value) {
		return nil
	}
	return fmt.Errorf("%s=%s: fio takes KiB for 1000 bytes and kB for 1024; write 4k, 64m, 1g, which are powers of 1024", key, value)
}

// refused are options under which fio reports something else than the metrics
// that are promised, or does not work in a guest.
var refused = map[string]string{
	"group_reporting":      "spindle adds up the clones of a job itself, and keeps different jobs apart; take it out",
	"unified_rw_reporting": "reads and writes are reported apart; take it out",
	"disable_clat":         "the latencies reported are completion latencies; take it out",
	"gtod_reduce":          "it switches the latencies off that are reported; take it out",
	"lat_percentiles":      "the latencies reported are completion latencies; take it out",
	"continue_on_error":    "a failed request ends the sample; take it out",
	"ignore_error":         "a failed request ends the sample; take it out",
}

// off tells whether an option has a value that leaves it switched off.
func off(value string) bool { return value == "0" || value == "" }

func (s fioSection) check(on string) error {
	for _, k := range sortedKeys(s.options) {
		if why, ok := refused[k]; ok && !off(s.options[k]) {
			return fmt.Errorf("%s: %s", k, why)
		}
		if on == "device" && slices.Contains([]string{"filename", "directory", "filename_format", "opendir"}, k) {
			return fmt.Errorf("%s: with on: device spindle names the drive; take it out", k)
		}
	}
	if v, ok := s.options["clat_percentiles"]; ok && off(v) {
		return errors.New("clat_percentiles: the latencies reported are completion latencies; take it out")
	}
	if !slices.Contains(fioPatterns, s.rw()) {
		return fmt.Errorf("rw=%s: there are %s", s.options["rw"], strings.Join(fioPatterns, ", "))
	}
	if strings.Contains(s.name, ":") {
		return errors.New("its name has a colon, which separates job and metric in reports")
	}
	return nil
}

// fioPatterns are the I/O patterns that are reported; "readwrite" is another
// name of rw.
var fioPatterns = []string{"read", "write", "randread", "randwrite", "rw", "randrw"}

// rw gives the pattern: "randread" of "randread:8".
func (s fioSection) rw() string {
	v, _, _ := strings.Cut(s.options["rw"], ":")
	switch v {
	case "":
		return "read"
	case "readwrite":
		return "rw"
	}
	return v
}

func (s fioSection) reads() bool { return strings.HasSuffix(s.rw(), "read") || s.mixed() }

func (s fioSection) writes() bool { return strings.HasSuffix(s.rw(), "write") || s.mixed() }

func (s fioSection) mixed() bool { return s.rw() == "rw" || s.rw() == "randrw" }

// syncs tells whether fio reports the latency of syncs between the writes.
func (s fioSection) syncs() bool {
	return s.writes() && (s.number("fsync", 0) > 0 || s.number("fdatasync", 0) > 0)
}

// summary names the job in a title: "randread 4k direct".
func (s fioSection) summary(named bool) string {
	t := s.rw()
	if named {
		t = s.name + ": " + t
	}
	if bs := s.options["bs"]; bs != "" {
		t += " " + bs
	}
	if v := s.options["direct"]; !off(v) {
		t += " direct"
	}
	for _, k := range []string{"fsync", "fdatasync", "iodepth", "numjobs"} {
		if v := s.options[k]; !off(v) {
			t += " " + k + "=" + v
		}
	}
	return t
}

// number gives a whole number's value, or def if there is none.
func (s fioSection) number(key string, def int64) int64 {
	n, err := strconv.ParseInt(s.options[key], 10, 64)
	if err != nil || n < 0 {
		return def
	}
	return n
}

// bytes gives how much the section lays out: its size, or filesize, times its
// clones. Percentages and expressions count as 0: unknown.
func (s fioSection) bytes() unit.Size {
	v := s.options["filesize"]
	if v == "" {
		v = s.options["size"]
	}
	n, ok := fioBytes(v)
	clones := max(1, s.number("numjobs", 1))
	if !ok || n > (1<<62)/clones {
		return 0
	}
	return unit.Size(n * clones)
}

// fioBytes reads a size in fio's way, powers of 1024.
func fioBytes(v string) (int64, bool) {
	v = strings.ToLower(v)
	shift := 0
	if i := strings.IndexAny(v, "kmgt"); i == len(v)-1 && i > 0 {
		shift = 10 * (1 + strings.IndexByte("kmgt", v[i]))
		v = v[:i]
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 || n > (1<<62)>>shift {
		return 0, false
	}
	return n << shift, true
}

// fioSeconds reads a time in fio's way: seconds where there is no unit.
func fioSeconds(v string) float64 {
	scale := 1.0
	for _, u := range []struct {
		suffix string
		scale  float64
	}{{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}} {
		if rest, ok := strings.CutSuffix(v, u.suffix); ok {
			v, scale = rest, u.scale
			break
		}
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n > 0) || n > 1e9 {
		return 0
	}
	return n * scale
}

// estimateFio guesses the seconds of a job file: jobs run together until one
// says that it waits for those before it.
func estimateFio(sections []fioSection, rate float64) float64 {
	total, bytes, longest := 0.0, 0.0, 0.0
	flush := func() {
		total += max(longest, bytes/rate)
		bytes, longest = 0, 0
	}
	for _, s := range sections {
		_, wall := s.options["stonewall"]
		_, wait := s.options["wait_for_previous"]
		if wall || wait {
			flush()
		}
		runtime := fioSeconds(s.options["runtime"])
		_, timed := s.options["time_based"]
		moved := float64(s.bytes())
		switch {
		case runtime > 0 && (timed || moved == 0 || moved/rate > runtime):
			longest = max(longest, runtime+fioSeconds(s.options["ramp_time"]))
		default:
			bytes += moved
		}
	}
	flush()
	return total
}
