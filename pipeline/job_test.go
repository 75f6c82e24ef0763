package pipeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"spindle/internal/unit"
	"spindle/reports/record"
	"spindle/workloads"
)

const jobs = `name: n
kernels: {k: {deb: linux-image-6.12-amd64}}
drives:
  sata: {profile: sata-7200, bus: ahci, queue-depth: 4}
  scsi: {profile: sata-7200, bus: virtio-scsi, queue-depth: 4}
arms:
  plain: {kernel: k}
  tuned: {kernel: k, sysctl: {vm.dirty_ratio: 10}, queue: {wbt_lat_usec: 0}, mount: [data=journal, commit=30]}
conditions: {filesystem: [ext4, btrfs], scheduler: [none, kyber]}
workloads: [{name: w, dd: {size: 96MiB}}]
mkfs: {ext4: -O ^has_journal}
mount: {ext4: "noatime,commit=5"}
limit: 90s
`

func TestJobOf(t *testing.T) {
	p := load(t, jobs)
	w, _ := p.Workload("w")
	crc32c := []string{"crc32c_generic", "crc32c_intel"} // ext4 asks for it by name
	for _, tc := range []struct {
		arm, drive, filesystem, scheduler string
		want                              workloads.Job
	}{
		{"plain", "sata", "btrfs", "none", workloads.Job{
			Modules: append([]string{"crc64_rocksoft_generic", "ahci", "sd_mod", "btrfs"}, crc32c...),
			Device:  map[string]string{"queue_depth": "4"},
		}},
		// Beyond AHCI, QEMU's device is made with the depth.
		{"plain", "scsi", "ext4", "kyber", workloads.Job{
			Modules:     append([]string{"crc64_rocksoft_generic", "virtio_scsi", "sd_mod", "ext4", "kyber-iosched"}, crc32c...),
			MkfsOptions: []string{"-O", "^has_journal"}, MountOptions: []string{"noatime", "commit=5"},
		}},
		// The arm's mount options come last, which is where the kernel lets them win.
		{"tuned", "sata", "ext4", "none", workloads.Job{
			Modules:     append([]string{"crc64_rocksoft_generic", "ahci", "sd_mod", "ext4"}, crc32c...),
			Device:      map[string]string{"queue_depth": "4"},
			MkfsOptions: []string{"-O", "^has_journal"}, MountOptions: []string{"noatime", "commit=5", "data=journal", "commit=30"},
			Sysctl: map[string]string{"vm.dirty_ratio": "10"}, Queue: map[string]string{"wbt_lat_usec": "0"},
		}},
	} {
		tc.want.Drive, tc.want.Filesystem, tc.want.Scheduler, tc.want.Workload = "spindle-d0", tc.filesystem, tc.scheduler, w
		tc.want.SampleEvery, tc.want.Limit, tc.want.Dir = unit.Duration(time.Second), unit.Duration(90*time.Second), jobDir
		got, err := jobOf(&Kit{}, p, record.Cell{Arm: tc.arm, Condition: record.Condition{Drive: tc.drive, Filesystem: tc.filesystem, Scheduler: tc.scheduler, Workload: "w"}})
		if err != nil {
			t.Error(err)
			continue
		}
		if err := got.Validate(); err != nil {
			t.Errorf("the guest refuses it: %v", err)
		}
		unordered := cmp.FilterPath(func(path cmp.Path) bool { return path.String() == "Modules" }, cmpopts.SortSlices(func(a, b string) bool { return a < b }))
		if diff := cmp.Diff(tc.want, got, unordered, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, %s %s (-want +got):\n%s", tc.arm, tc.drive, tc.filesystem, diff)
		}
	}
	// The job's maps are its own: what is done with them is not done to the plan.
	job, err := jobOf(&Kit{}, p, record.Cell{Arm: "tuned", Condition: p.Grid()[0]})
	if err != nil {
		t.Fatal(err)
	}
	job.Sysctl["vm.dirty_ratio"] = "99"
	if got := p.Arm("tuned").Sysctl["vm.dirty_ratio"]; got != "10" {
		t.Errorf("the plan now has %s", got)
	}
}

func TestJobOfNoCell(t *testing.T) {
	p := load(t, jobs)
	for _, cell := range []record.Cell{
		{Arm: "other", Condition: p.Grid()[0]},
		{Arm: "plain", Condition: record.Condition{Drive: "sata", Filesystem: "ext4", Scheduler: "none", Workload: "other"}},
	} {
		if _, err := jobOf(&Kit{}, p, cell); err == nil {
			t.Errorf("%v: there is a job", cell)
		}
	}
}
