package workloads

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"spindle/workloads/blockdev"
)

// Settings are what the kernel of a guest is told before a workload. They stand
// with an arm, and are compared then, or with a workload, and are a condition
// then. Each is read back; one that this kernel lacks or does not take ends the
// sample before its workload starts.
type Settings struct {
	Sysctl  map[string]string            `yaml:"sysctl" json:"sysctl,omitempty"`   // vm.dirty_ratio: 10
	Queue   map[string]string            `yaml:"queue" json:"queue,omitempty"`     // below /sys/block/X/queue
	Iosched map[string]map[string]string `yaml:"iosched" json:"iosched,omitempty"` // of a scheduler, set where it is the condition's: bfq: {slice_idle: 0}
	BDI     map[string]string            `yaml:"bdi" json:"bdi,omitempty"`         // of the file system's backing device: strict_limit: 1
	Cgroup  *Cgroup                      `yaml:"cgroup" json:"cgroup,omitempty"`   // that the workload runs in
	Trace   []string                     `yaml:"trace" json:"trace,omitempty"`     // blk for the tracer, groups of events (block), one (block:block_rq_issue), or explain
}

// Cgroup is a control group of blkio (version 1) or io (version 2) for the
// workload's processes. Kernel threads, such as ext4's journal, stay in the root
// group.
type Cgroup struct {
	Version int `yaml:"version" json:"version,omitempty"` // 0 is 2
	// Group is "own" (the default) or "root": the controller is there and the
	// workload is in the root group, for a negative control.
	Group string `yaml:"group" json:"group,omitempty"`
	// Settings are files of the group: io.bfq.weight: 100, or blkio.bfq.weight.
	// $DEV stands for the drive's MAJOR:MINOR.
	Settings map[string]string `yaml:"settings" json:"settings,omitempty"`
}

func (c Cgroup) version() int { return orDefault(c.Version, 2) }

// Validate tells what is wrong, beginning with the key it is about.
func (s Settings) Validate() error {
	for _, m := range []struct {
		what string
		keys map[string]string
	}{{"sysctl", s.Sysctl}, {"queue", s.Queue}, {"bdi", s.BDI}} {
		for _, key := range sortedKeys(m.keys) {
			if err := ValidKnob(m.what, key); err != nil {
				return err
			}
			if err := oneWord(m.what, key, m.keys[key]); err != nil {
				return err
			}
		}
	}
	for _, scheduler := range sortedKeys(s.Iosched) {
		for _, key := range sortedKeys(s.Iosched[scheduler]) {
			if err := ValidKnob("iosched", key); err != nil {
				return err
			}
			if err := oneWord("iosched", key, s.Iosched[scheduler][key]); err != nil {
				return err
			}
		}
	}
	if s.Cgroup != nil {
		if err := s.Cgroup.validate(); err != nil {
			return fmt.Errorf("cgroup: %w", err)
		}
	}
	for _, t := range s.Trace {
		if !traceForm.MatchString(t) {
			return fmt.Errorf("trace: %q: write blk for the block tracer, groups of events such as block and writeback, one event such as block:block_rq_issue, or explain", t)
		}
	}
	return nil
}

// title says for a table's heading what sets a workload apart from the same one
// with other settings: ", vm.dirty_ratio 10, in a cgroup (v1), traced (blk)".
func (s Settings) title() string {
	var parts []string
	add := func(prefix string, m map[string]string) {
		for _, k := range sortedKeys(m) {
			parts = append(parts, prefix+k+" "+m[k])
		}
	}
	add("", s.Sysctl)
	add("", s.Queue)
	for _, scheduler := range sortedKeys(s.Iosched) {
		add(scheduler+" ", s.Iosched[scheduler])
	}
	add("bdi ", s.BDI)
	if c := s.Cgroup; c != nil {
		where := "in a cgroup"
		if c.Group == "root" {
			where = "in the root cgroup"
		}
		parts = append(parts, fmt.Sprintf("%s (v%d)", where, c.version()))
		add("", c.Settings)
	}
	if len(s.Trace) > 0 {
		parts = append(parts, "traced ("+strings.Join(s.Trace, " ")+")")
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

func (c Cgroup) validate() error {
	switch {
	case c.Version < 0 || c.Version > 2:
		return fmt.Errorf("version %d: there are 1 (blkio) and 2 (io)", c.Version)
	case !slices.Contains([]string{"", "own", "root"}, c.Group):
		return fmt.Errorf("group %q: there are own and root", c.Group)
	case c.Group == "root" && len(c.Settings) > 0:
		return errors.New("settings: the root group takes none")
	}
	prefix := map[int]string{1: "blkio.", 2: "io."}[c.version()]
	for _, k := range sortedKeys(c.Settings) {
		if !strings.HasPrefix(k, prefix) || strings.Contains(k, "/") {
			return fmt.Errorf("settings: %q: a control group of version %d has %s*", k, c.version(), prefix)
		}
		if err := oneWord("settings", k, c.Settings[k]); err != nil {
			return err
		}
	}
	return nil
}

// oneWord refuses values that no setting has.
func oneWord(what, key, value string) error {
	if strings.TrimSpace(value) == "" || strings.ContainsAny(value, "\n\x00") {
		return fmt.Errorf("%s: %s: want one line of text, not %q", what, key, value)
	}
	return nil
}

var traceForm = regexp.MustCompile(`^[a-z0-9_]+(:[a-z0-9_]+)?$`)

// Merge puts the settings of an arm and of a workload together. The same knob in
// both is an error: one of the two would not be what the plan says.
func (s Settings) Merge(o Settings) (Settings, error) {
	out := Settings{Cgroup: s.Cgroup, Trace: append(slices.Clone(s.Trace), o.Trace...)}
	for _, m := range []struct {
		what string
		a, b map[string]string
		to   *map[string]string
	}{{"sysctl", s.Sysctl, o.Sysctl, &out.Sysctl}, {"queue", s.Queue, o.Queue, &out.Queue}, {"bdi", s.BDI, o.BDI, &out.BDI}} {
		for k := range m.b {
			if _, ok := m.a[k]; ok {
				return out, fmt.Errorf("%s: %s is set twice, by the arm and by the workload", m.what, k)
			}
		}
		if len(m.a)+len(m.b) > 0 {
			*m.to = maps.Clone(m.a)
			if *m.to == nil {
				*m.to = map[string]string{}
			}
			maps.Copy(*m.to, m.b)
		}
	}
	for _, from := range []map[string]map[string]string{s.Iosched, o.Iosched} {
		for scheduler, ks := range from {
			for k, v := range ks {
				if _, ok := out.Iosched[scheduler][k]; ok {
					return out, fmt.Errorf("iosched: %s of %s is set twice, by the arm and by the workload", k, scheduler)
				}
				if out.Iosched == nil {
					out.Iosched = map[string]map[string]string{}
				}
				if out.Iosched[scheduler] == nil {
					out.Iosched[scheduler] = map[string]string{}
				}
				out.Iosched[scheduler][k] = v
			}
		}
	}
	if o.Cgroup != nil {
		if s.Cgroup != nil {
			return out, errors.New("cgroup: is set twice, by the arm and by the workload")
		}
		out.Cgroup = o.Cgroup
	}
	return out, nil
}

// bdiKnobs are the settings of the file system's backing device. They are made
// after the mount: btrfs has a device of its own, which is there only then.
func (r *run) bdiKnobs() []knob {
	dir := r.sys.path("sys/class/bdi/" + r.bdi())
	var ks []knob
	for _, k := range sortedKeys(r.set.BDI) {
		ks = append(ks, knob{"bdi/" + k, filepath.Join(dir, k), r.set.BDI[k]})
	}
	return ks
}

// ioschedKnobs are the settings of the scheduler that the job has. Those of
// others are for other conditions.
func (r *run) ioschedKnobs(d blockdev.Drive) []knob {
	var ks []knob
	for _, k := range sortedKeys(r.set.Iosched[r.job.Scheduler]) {
		ks = append(ks, knob{"iosched/" + k, d.Path("queue/iosched/" + k), r.set.Iosched[r.job.Scheduler][k]})
	}
	return ks
}
