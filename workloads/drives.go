package workloads

import (
	"context"
	"fmt"
	"maps"

	"spindle/internal/fault"
	"spindle/workloads/blockdev"
	"spindle/workloads/mdraid"
)

// findDrive finds the test drive by its serial, or the members of the array,
// and makes that.
func (r *run) findDrive(ctx context.Context) error {
	serials := []string{r.job.Drive}
	if md := r.job.MD; md != nil {
		serials = md.Members
	}
	r.disks = nil
	finding, cancel := context.WithTimeoutCause(ctx, r.sys.FindFor, fmt.Errorf("not there after %s", r.sys.FindFor))
	defer cancel()
	for _, serial := range serials {
		d, err := blockdev.Find(finding, r.sys.path("sys"), r.sys.path("dev"), serial)
		if err != nil {
			return &fault.Error{Kind: fault.Machinery, Reason: "drive-missing", Err: err}
		}
		r.disks = append(r.disks, d)
	}
	r.drive = r.disks[0]
	r.wbt, _ = r.drive.Read("queue/wbt_lat_usec")
	if r.job.MD != nil {
		if err := r.makeArray(ctx); err != nil {
			return err
		}
	}
	if r.job.Filesystem == NoFilesystem {
		r.target = r.drive.Node
	}
	return nil
}

// makeArray makes the test drive of its members.
func (r *run) makeArray(ctx context.Context) error {
	var nodes []string
	for _, d := range r.disks {
		nodes = append(nodes, d.Node)
	}
	line, err := r.setup(ctx, "md", mdadm, r.job.MD.Args(nodes))
	r.array = line
	r.drive = blockdev.Drive{Name: mdraid.Device, Sys: r.drive.Sys, Node: r.sys.path("dev/" + mdraid.Device)}
	return err
}

// queues gives the drives that have the queue settings: an array has none of its
// own, its members have.
func (r *run) queues() []blockdev.Drive {
	if len(r.disks) == 0 {
		return []blockdev.Drive{r.drive}
	}
	return r.disks
}

// mdadm is the program that makes arrays.
var mdadm = command{name: mdraid.Program, version: []string{"--version"}, pack: mdraid.Package}

// describeDrive reads what the kernel makes of the test drive: of an array, also
// what it makes of the first member, since all are alike.
func (r *run) describeDrive() map[string]string {
	out := r.drive.Describe()
	if r.job.MD != nil {
		maps.Copy(out, mdraid.Describe(r.drive.Sys))
		out["md"] = r.array
		for key, value := range r.disks[0].Describe() {
			out["member_"+key] = value
		}
	}
	if r.wbt != "" {
		out["wbt_lat_usec_default"] = r.wbt
	}
	return out
}
