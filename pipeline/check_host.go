package pipeline

import (
	"context"
	"slices"

	"spindle/internal/fault"
	"spindle/pipeline/drive/passthrough"
	"spindle/reports/record"
)

// CheckHost looks whether the disks of this host that the plan's conditions
// name can be taken, and gives them by the names of their drives. A disk that
// is not the one the plan says, that is in use or that is not empty is a problem
// of the plan, at the entry that names it. Nothing is opened: each sample looks
// again when it takes the disk.
func (p *Plan) CheckHost(ctx context.Context, h passthrough.Host) (map[string]*passthrough.Disk, error) {
	s := &source{file: p.source.file, lines: p.source.lines}
	disks := map[string]*passthrough.Disk{}
	for _, name := range p.Conditions.Drive {
		spec := p.Drives[name]
		if !spec.OfHost() {
			continue
		}
		d, err := passthrough.Check(ctx, h, spec.HostDisk())
		if err != nil {
			if fault.Of(err) != fault.Plan {
				return nil, err
			}
			if hint := fault.Hint(err); hint != "" {
				s.value(p.root.get("drives", name, "passthrough"), "%v; %s", err, hint)
			} else {
				s.value(p.root.get("drives", name, "passthrough"), "%v", err)
			}
			continue
		}
		for i, w := range p.Workloads {
			used := slices.ContainsFunc(p.Grid(), func(c record.Condition) bool { return c.Drive == name && c.Workload == w.Slug() })
			if used && w.Space() > d.Size {
				s.entry(p.root.get("workloads").item(i), "workload %s fills %s, and drive %s has %s", w.Slug(), w.Space().Near(), name, d.Size.Near())
			}
		}
		disks[name] = d
	}
	return disks, s.err()
}
