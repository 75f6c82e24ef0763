package pipeline

import (
	"maps"
	"slices"
	"strings"

	"spindle/internal/unit"
	"spindle/kernels"
)

// armSettings checks what an arm says beside its kernel, sysctls and queue.
func (c *checker) armSettings(n *node, arm *Arm) {
	c.valid(n, "arm "+arm.Name, arm.settings().Validate())
	if m := n.get("iosched"); m != nil && !m.broken() {
		for _, f := range m.fields {
			switch {
			case !slices.Contains(kernels.Schedulers(), f.key.text):
				c.entry(f, "%s", unknown("scheduler", f.key.text, kernels.Schedulers()))
			case c.root.get("conditions", "scheduler") != nil && !slices.Contains(c.plan.Conditions.Scheduler, f.key.text):
				c.entry(f, "iosched: no condition has the scheduler %s", f.key.text)
			}
		}
	}
	if m := n.get("mkfs"); m != nil && !m.broken() {
		for _, f := range m.fields {
			if !slices.Contains(filesystems(), f.key.text) {
				c.entry(f, "%s", unknown("filesystem", f.key.text, filesystems()))
			}
		}
	}
	if m := n.get("memory"); m != nil && !m.broken() && (arm.Memory < minMemory || arm.Memory > maxMemory || arm.Memory%unit.MiB != 0) {
		c.value(m, "memory %s: a guest takes whole MiB from %s to %s", arm.Memory, minMemory, maxMemory)
	}
	if m := n.get("cpus"); m != nil && !m.broken() && c.plan.Virtual() && arm.CPUs != 1 {
		c.value(m, "cpus %d: a guest in virtual time has one", arm.CPUs)
	} else if m != nil && !m.broken() && (arm.CPUs < 1 || arm.CPUs > maxCPUs) {
		c.value(m, "cpus %d: a guest takes from 1 to %d", arm.CPUs, maxCPUs)
	}
}

// recorded gives the settings of the drive as the record has them, those of
// schedulers and of the backing device under the names of their directories.
func (a *Arm) recorded() map[string]string {
	out := maps.Clone(a.Queue)
	put := func(k, v string) {
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
	}
	for scheduler, ks := range a.Iosched {
		for k, v := range ks {
			put(scheduler+"/"+k, v)
		}
	}
	for k, v := range a.BDI {
		put("bdi/"+k, v)
	}
	return out
}

// recordedMkfs gives the arm's own options of mkfs, each behind its filesystem.
func (a *Arm) recordedMkfs() []string {
	var out []string
	for _, f := range sortedKeys(a.Mkfs) {
		out = append(out, f+": "+strings.Join(a.Mkfs[f], " "))
	}
	return out
}
