package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"spindle/internal/unit"
	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// measured writes what a reader needs to believe the numbers or to make them
// again.
func (p *page) measured() {
	p.heading(2, "How it was measured")
	var items []string
	items = append(items, p.armItems()...)
	items = append(items, p.kernelItems()...)
	items = append(items, p.guestItem(), p.machineItem())
	items = append(items, p.driveItems()...)
	items = append(items, p.filesystemItems()...)
	items = append(items, p.settingItems()...)
	items = append(items, p.durationItem(), p.hostItem(), p.againItem())
	p.list(slices.DeleteFunc(items, func(s string) bool { return s == "" }))
}

// armItems says how arms differ from each other.
func (p *page) armItems() []string {
	var out []string
	for i, a := range p.setups {
		parts := []string{"kernel " + a.Kernel}
		for _, m := range []struct {
			what string
			of   map[string]string
		}{{"sysctl", a.Sysctl}, {"queue", a.Queue}, {"device", a.Device}} {
			for _, k := range slices.Sorted(maps.Keys(m.of)) {
				parts = append(parts, fmt.Sprintf("%s %s=%s", m.what, k, m.of[k]))
			}
		}
		if a.Append != "" {
			parts = append(parts, "boot with "+a.Append)
		}
		if len(a.Mkfs) > 0 {
			parts = append(parts, "mkfs "+strings.Join(a.Mkfs, " "))
		}
		if len(a.Mount) > 0 {
			parts = append(parts, "mount "+strings.Join(a.Mount, " "))
		}
		name := "arm " + a.Name
		if i == 0 {
			name += " (baseline)"
		}
		out = append(out, text.Clean(name+": "+strings.Join(parts, ", ")))
	}
	return out
}

func (p *page) kernelItems() []string {
	var out []string
	for _, k := range p.manifest.Kernels {
		config := "config unknown"
		if k.ConfigHash != "" {
			config = "config " + short(k.ConfigHash)
		}
		out = append(out, text.Clean(fmt.Sprintf("kernel %s: %s, %s, hash %s, %s", k.Name, k.Version, k.Source, short(k.Hash), config)))
	}
	return out
}

// short gives enough of a hash to tell it; the manifest has all of it.
func short(hash string) string {
	if len(hash) > 12 {
		return hash[:12]
	}
	return hash
}

// guestItem names the image and the programs that made the numbers.
func (p *page) guestItem() string {
	im := p.manifest.Image
	s := fmt.Sprintf("guest: Debian %s, image %s", im.Suite, short(im.Hash))
	if im.Snapshot != "" {
		s += ", snapshot " + im.Snapshot
	}
	if im.GuestHash != "" {
		s += ", spindle-guest " + short(im.GuestHash)
	}
	for _, name := range slices.Sorted(maps.Keys(im.Packages)) {
		if p.used(name) {
			s += ", package " + name + " " + im.Packages[name]
		}
	}
	versions := map[string][]string{}
	for _, x := range p.samples {
		for name, v := range x.Programs {
			if !slices.Contains(versions[name], v) {
				versions[name] = append(versions[name], v)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		slices.Sort(versions[name])
		said := strings.Join(versions[name], " and ")
		if !strings.HasPrefix(said, name) {
			said = name + " " + said
		}
		s += ", " + said
	}
	return text.Clean(s)
}

// used says whether a package of the image had a part in the samples.
func (p *page) used(pack string) bool {
	program, ok := map[string]string{
		"btrfs-progs": "mkfs.btrfs", "coreutils": "dd", "e2fsprogs": "mkfs.ext", "fio": "fio", "xfsprogs": "mkfs.xfs",
	}[pack]
	return ok && slices.ContainsFunc(p.samples, func(s record.Sample) bool {
		for name := range s.Programs {
			if name == program {
				return true
			}
		}
		return strings.Contains(s.Mkfs, program)
	})
}

func (p *page) machineItem() string {
	m := p.manifest.Machine
	if p.virtual() {
		return p.virtualItem()
	}
	s := fmt.Sprintf("machine: QEMU %s, accelerator %s", m.QEMU, m.Accel)
	if m.AccelWhy != "" {
		s += " (" + m.AccelWhy + ")"
	}
	s += fmt.Sprintf(", %s (-cpu %s), %s memory", plural(m.CPUs, "CPU", "CPUs"), m.CPUModel, size(m.MemoryBytes))
	if m.Append != "" {
		s += ", boot with " + m.Append
	}
	if p.manifest.Scale != "" {
		s += ", plan scaled to " + p.manifest.Scale
	}
	return text.Clean(s)
}

func size(bytes int64) string {
	s := unit.Size(bytes).Near()
	if i := strings.IndexFunc(s, func(r rune) bool { return r > '9' }); i > 0 {
		return s[:i] + " " + s[i:]
	}
	return s
}

func (p *page) driveItems() []string {
	var out []string
	for _, d := range p.manifest.Drives {
		s := fmt.Sprintf("drive %s: %s", d.Name, near(d.Model))
		for _, x := range []struct{ name, value string }{
			{"profile", d.Profile}, {"queue depth", fmt.Sprint(d.QueueDepth)}, {"bus", d.Bus}, {"size", size(d.SizeBytes)},
		} {
			if !strings.Contains(d.Model, x.value) {
				s += ", " + x.name + " " + x.value
			}
		}
		var worst, mean, p50, p99, most float64
		n := 0
		for _, x := range p.samples {
			if x.Drive.Requests == 0 { // it broke before the timed part
				continue
			}
			if x.Condition.Drive == d.Name || x.Arm == d.Name && p.manifest.Compare == "drive" {
				n++
				mean += x.Drive.ModelErrorRel
				worst = max(worst, x.Drive.ModelErrorRel)
				p50, p99, most = max(p50, x.Drive.LatenessP50), max(p99, x.Drive.LatenessP99), max(most, x.Drive.LatenessMax)
			}
		}
		switch {
		case len(d.Params) == 0 && worst == 0 && most == 0: // a drive without a model
			s += "; no timing"
		case p.manifest.Machine.Accel == "virtual": // answers leave when they are due
		case n > 0:
			s += fmt.Sprintf("; model error %s on average, %s at worst; replies late by up to %s (median), %s (p99), %s (max)",
				share(mean/float64(n)), share(worst), withUnit(p50, "s", 2), withUnit(p99, "s", 2), withUnit(most, "s", 2))
		}
		if d.QueueDepth > nbdRequests && p.manifest.Machine.Accel != "virtual" && d.Profile != "" {
			s += fmt.Sprintf("; QEMU asks for at most %d requests at a time over NBD, so of the queue depth of %d the rest waits in QEMU", nbdRequests, d.QueueDepth)
		}
		if e := d.Early; e.ReadSeconds > 0 {
			s += fmt.Sprintf("; replies leave early by what the guest, gauged before the run, takes to notice them: reads %s, writes %s",
				early(e.ReadSeconds, e.ReadLargeSeconds), early(e.WriteSeconds, e.WriteLargeSeconds))
		}
		out = append(out, keep(s))
		if len(d.Params) > 0 {
			var params []string
			for _, x := range d.Params {
				s := x.Name + " " + near(x.Text)
				if depth := fmt.Sprint(d.QueueDepth); x.Name == depthParam(d) && d.QueueDepth > 0 && x.Text != depth {
					s += " (set to " + depth + ")" // else the line above would contradict it
				}
				params = append(params, s)
			}
			out = append(out, keep("model of "+d.Name+": "+strings.Join(params, ", ")))
		}
	}
	return out
}

// depthParam names the parameter of a drive's model that its queue depth stands
// in place of: behind a controller that is the controller's own.
func depthParam(d record.Drive) string {
	const controller = "controller.depth"
	if slices.ContainsFunc(d.Params, func(x record.Param) bool { return x.Name == controller }) {
		return controller
	}
	return "queue.depth"
}

// nbdRequests is how many requests QEMU's NBD client has in flight on a
// connection at most (MAX_NBD_REQUESTS in QEMU's block/nbd.c).
const nbdRequests = 16

// keep cleans text that spindle made, with its no-break spaces.
func keep(s string) string {
	parts := strings.Split(s, text.NBSP)
	for i, x := range parts {
		parts[i] = text.Clean(x)
	}
	return strings.Join(parts, text.NBSP)
}

// filesystemItems gives the command lines as they were run.
func (p *page) filesystemItems() []string {
	var out []string
	for _, x := range []struct {
		what string
		of   func(record.Sample) string
	}{{"mkfs", func(s record.Sample) string { return s.Mkfs }}, {"mount", func(s record.Sample) string { return s.Mount }}} {
		var lines []string
		for _, s := range p.samples {
			if l := x.of(s); l != "" && !slices.Contains(lines, l) {
				lines = append(lines, l)
			}
		}
		slices.Sort(lines)
		if len(lines) > 0 {
			out = append(out, text.Clean(x.what+": "+strings.Join(lines, "; ")))
		}
	}
	return out
}

// durationItem says where the time of the samples went.
func (p *page) durationItem() string {
	if len(p.samples) == 0 {
		return ""
	}
	var boot, setup, work []float64
	var total float64
	for _, s := range p.samples {
		total += s.TotalSeconds
		boot, setup = append(boot, s.BootSeconds), append(setup, s.SetupSeconds)
		if s.Outcome.Kind == record.OK {
			work = append(work, s.WorkloadSeconds)
		}
	}
	s, took := "time per sample, median: boot "+seconds(boot), "took"
	if p.virtual() {
		s, took = "virtual time per sample, median: boot "+seconds(boot), "took the host"
	}
	if slices.Max(setup) > 0 {
		s += ", set-up " + seconds(setup)
	}
	if len(work) > 0 {
		s += fmt.Sprintf(", workload %s (%s to %s)", seconds(work), withUnit(slices.Min(work), "s", 2), withUnit(slices.Max(work), "s", 2))
	}
	return s + fmt.Sprintf("; %s %s %s in all", plural(len(p.samples), "sample", "samples"), took, hours(total))
}

func seconds(v []float64) string { return withUnit(stat.Describe(v).Median, "s", 2) }

func hours(s float64) string {
	switch {
	case s < 120:
		return withUnit(s, "s", 3)
	case s < 2*3600:
		return fixed(s/60, 0) + text.NBSP + "min"
	}
	return fixed(s/3600, 1) + text.NBSP + "h"
}

// hostItem names the host and how quiet it was.
func (p *page) hostItem() string {
	if hosts := p.hosts(); len(hosts) > 1 {
		return text.Clean("hosts: " + strings.Join(hosts, "; "))
	}
	h := p.manifest.Machine.Host
	s := fmt.Sprintf("host: %s, %s, %s memory, Linux %s", h.CPU, plural(h.CPUs, "CPU", "CPUs"), size(h.MemoryBytes), h.Kernel)
	if h.OS != "" {
		s += ", " + h.OS
	}
	if len(p.samples) == 0 {
		return text.Clean(s)
	}
	low := math.Inf(1)
	var high, steal, cpu, io, memory float64
	for _, x := range p.samples {
		low, high = min(low, x.Host.Load1), max(high, x.Host.Load1)
		steal, cpu, io, memory = max(steal, x.Host.Steal), max(cpu, x.Host.PressureCPU), max(io, x.Host.PressureIO), max(memory, x.Host.PressureMemory)
	}
	return keep(s + fmt.Sprintf("; load %s to %s before samples; at worst %s of CPU time stolen, tasks waiting for CPU %s, I/O %s, memory %s of the time",
		fixed(low, 1), fixed(high, 1), share(steal), share(cpu), share(io), share(memory)))
}

// againItem says how to make the run again.
func (p *page) againItem() string {
	m := p.manifest
	s := fmt.Sprintf("again: spindle reproduce DIR, with this run's directory (seed"+text.NBSP+"%d, plan's sha256 %s); this run was made by spindle %s", m.Seed, m.Plan.Hash, m.Spindle)
	if len(m.Command) > 0 {
		s += " with: " + strings.Join(m.Command, " ")
	}
	s += ", started " + m.Started.UTC().Format("2006-01-02 15:04") + " UTC"
	return keep(s)
}

// early is how much a reply leaves early, of small requests and of large ones.
func early(small, large float64) string {
	s := withUnit(small, "s", 2)
	if large > small {
		s += fmt.Sprintf(" (of 64 KiB %s)", withUnit(large, "s", 2))
	}
	return s
}
