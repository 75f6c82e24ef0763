package workloads

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"spindle/internal/fault"
	"spindle/workloads/blockdev"
)

// knob is one setting to make.
type knob struct {
	key  string // in Result.Settings
	path string
	want string
}

// ValidKnob tells whether a key of Job.Queue, Job.Device or Job.Sysctl (what is
// "queue", "device" or "sysctl") names a file in its directory. Whether the
// kernel has that file is seen in the guest.
func ValidKnob(what, key string) error {
	path := key
	if what == "sysctl" {
		path = strings.ReplaceAll(key, ".", "/")
	}
	switch {
	case what == "queue" && key == "scheduler":
		return errors.New("queue: scheduler has a place of its own: conditions, scheduler")
	case !filepath.IsLocal(path) || filepath.Clean(path) != path:
		return fmt.Errorf("%s: %q is no name of a setting", what, key)
	}
	return nil
}

// knobs gives the job's settings in the order they are made. The scheduler comes
// after the device's depth, which it takes its own from, and before the queue,
// because a change of scheduler sets nr_requests anew and may switch writeback
// throttling off.
func (r *run) knobs() []knob {
	var ks []knob
	for _, d := range r.queues() {
		for _, k := range sortedKeys(r.job.Device) {
			ks = append(ks, knob{deviceKey(k), d.Path("device/" + k), r.job.Device[k]})
		}
		if r.job.Scheduler != "" {
			ks = append(ks, knob{"scheduler", d.Path("queue/scheduler"), r.job.Scheduler})
		}
		ks = append(ks, r.ioschedKnobs(d)...)
		for _, k := range sortedKeys(r.job.Queue) {
			ks = append(ks, knob{k, d.Path("queue/" + k), r.job.Queue[k]})
		}
	}
	for _, k := range sortedKeys(r.job.Sysctl) {
		ks = append(ks, knob{k, r.sys.sysctl(k), r.job.Sysctl[k]})
	}
	return ks
}

// deviceKey keeps the names of device and queue apart, but for the one that
// reports always have.
func deviceKey(name string) string {
	if name == "queue_depth" {
		return name
	}
	return "device/" + name
}

// apply makes the settings, then reads all of them back: a later one may have
// undone an earlier one (vm.dirty_bytes sets vm.dirty_ratio to 0).
func apply(ks []knob) error {
	for _, k := range ks {
		if err := k.set(); err != nil {
			return &fault.Error{Kind: fault.Kernel, Reason: "setting", Err: err}
		}
	}
	for _, k := range ks {
		if err := k.check(); err != nil {
			return &fault.Error{Kind: fault.Kernel, Reason: "setting", Err: err}
		}
	}
	return nil
}

func (k knob) set() error {
	f, err := os.OpenFile(k.path, os.O_WRONLY|os.O_TRUNC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set %s: this kernel has no %s", k.key, k.path)
	}
	if err == nil {
		_, err = f.WriteString(k.want)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("set %s to %q: %w; it is %s (%s)", k.key, k.want, err, k.now(), k.path)
}

// now gives what the file says, for messages.
func (k knob) now() string {
	data, err := os.ReadFile(k.path)
	if err != nil {
		return "unreadable"
	}
	return strconv.Quote(strings.TrimSpace(string(data)))
}

func (k knob) check() error {
	data, err := os.ReadFile(k.path)
	if err != nil {
		return fmt.Errorf("read %s back: %w", k.key, err)
	}
	if k.took(strings.TrimSpace(string(data))) {
		return nil
	}
	return fmt.Errorf("set %s to %q: it did not take, it is %s (%s)", k.key, k.want, k.now(), k.path)
}

// took tells whether text, read back, means what was written.
func (k knob) took(text string) bool {
	text = blockdev.Selected(text)
	want := strings.TrimSpace(k.want)
	if strings.HasPrefix(k.key, "cgroup/") {
		// These files show more than was written: "default 100", a line of
		// each device.
		shown := strings.Fields(text)
		return !slices.ContainsFunc(strings.Fields(want), func(w string) bool { return !slices.Contains(shown, w) })
	}
	if strings.Join(strings.Fields(text), " ") == strings.Join(strings.Fields(want), " ") {
		return true
	}
	w, err1 := strconv.ParseInt(want, 0, 64)
	t, err2 := strconv.ParseInt(text, 0, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	switch {
	case k.key == "wbt_lat_usec" && w == -1: // asks for writeback throttling's default
		return t >= 0
	case k.key == "bdi/max_bytes" || k.key == "bdi/min_bytes":
		// Kept as a share of the dirty limit, in millionths, and shown as
		// bytes of what that is now (bdi_set_max_bytes in mm/backing-dev.c).
		return t > w-w/20 && t < w+w/20
	}
	return w == t
}

// settings reads back what a report says of the guest, the knobs included.
func (r *run) settings(ks []knob) map[string]string {
	out := r.describeDrive()
	dir := r.sys.sysctl("vm")
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "dirty") {
			if data, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
				out["vm."+e.Name()] = strings.TrimSpace(string(data))
			}
		}
	}
	for _, k := range ks {
		if data, err := os.ReadFile(k.path); err == nil {
			out[k.key] = blockdev.Selected(strings.TrimSpace(string(data)))
		}
	}
	r.sys.describe(out)
	if where, ok := r.describeGroup(); ok {
		out["cgroup"] = where
	}
	if len(r.set.Trace) > 0 {
		out["trace"] = strings.Join(r.set.Trace, ", ")
	}
	if options, ok := mountedWith(r.sys.proc("self/mounts"), r.dir); ok && r.mounted {
		out["mount"] = options
	}
	return out
}

// mountedWith gives the options that the kernel shows for a mount point
// (proc_pid_mounts(5)).
func mountedWith(mounts, dir string) (string, bool) {
	data, err := os.ReadFile(mounts)
	if err != nil {
		return "", false
	}
	options, found := "", false
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) >= 4 && f[1] == dir {
			options, found = f[3], true // the last is on top
		}
	}
	return options, found
}

// moving are settings that are no settings: writeback throttling scales its
// depths while it works, and a backing device's bytes are shown as its share of
// the dirty limit, which moves with the memory that is free.
var moving = []string{"wb_normal", "wb_background", "bdi/max_bytes", "bdi/min_bytes"}

// changes tells which settings the run itself changed.
func changes(before, after map[string]string) []string {
	var out []string
	for _, k := range sortedKeys(before) {
		if a, ok := after[k]; ok && a != before[k] && !slices.Contains(moving, k) {
			out = append(out, fmt.Sprintf("%s changed during the run: %s, then %s", k, before[k], a))
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
