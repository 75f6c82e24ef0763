package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/unit"
	"spindle/reports/record"
	"spindle/workloads/mdraid"
)

// An md array asks for as many drives as it has members, for the driver of its
// level and for mdadm, and its guest is told how to make it.
func TestPlanMD(t *testing.T) {
	text := planOn("  j: {profile: sata-7200, count: 4, md: {level: 5, chunk: 64KiB}, size: 1GiB}\n") + "image: {packages: [mdadm]}\n"
	p := load(t, text)
	c := p.Grid()[0]
	if n := p.need(c); n.Array != "raid5" {
		t.Errorf("needs %+v", n)
	}
	members := p.Drives["j"].Members()
	if len(members) != 4 || members[3].MD != nil || members[3].Size != unit.GiB {
		t.Errorf("members %+v", members)
	}
	d, err := p.Drives["j"].Device()
	if err != nil || d.Size < 3*unit.GiB*99/100 || d.Size >= 3*unit.GiB {
		t.Errorf("array of %v, %v: want less than 3 GiB, but not by much", d.Size, err)
	}
	j, err := jobOf(&Kit{}, p, record.Cell{Arm: "a", Condition: c})
	if err != nil {
		t.Fatal(err)
	}
	want := &mdraid.Spec{Level: "5", Chunk: 64 * unit.KiB, Members: []string{"spindle-d0", "spindle-d1", "spindle-d2", "spindle-d3"}}
	if diff := cmp.Diff(want, j.MD); diff != "" {
		t.Errorf("array (-want +got):\n%s", diff)
	}
	if !slices.Contains(j.Modules, "raid456") {
		t.Errorf("modules %v", j.Modules)
	}
	if got := p.Drives["j"].Describe(); !strings.HasPrefix(got, "md RAID 5 of 4, chunk 64KiB, each sata-7200 (") {
		t.Errorf("described as %q", got)
	}
}

func TestBadDrives(t *testing.T) {
	for want, drive := range map[string]string{
		"md: the guest makes the array by mdadm: write image: {packages: [mdadm]}": "{profile: sata-7200, count: 2, md: {level: 1}}",
		"count 2: md RAID 5 takes 3 to 32":                                         "{profile: sata-7200, count: 2, md: {level: 5}}",
		"level \"7\": not one of 0, 1, 5, 6, 10":                                   "{profile: sata-7200, count: 2, md: {level: 7}}",
		"chunk 64KiB: RAID 1 has no chunks":                                        "{profile: sata-7200, count: 2, md: {level: 1, chunk: 64KiB}}",
		"md: the controller has a RAID of its own":                                 "{profile: sata-7200, count: 4, raid: 0, md: {level: 0}}",
		"write its serial behind destroy:":                                         "{passthrough: /dev/sdx}",
		"want a disk's path":                                                       "{passthrough: sdx, destroy: a}",
		"profile: a disk of the host is as it is":                                  "{profile: sata-7200, passthrough: /dev/sdx, destroy: a}",
		"only a disk of the host is destroyed":                                     "{profile: sata-7200, destroy: a}",
		"only a disk of the host is destroyed: passthrough is m":                   "{profile: sata-7200, destroy-contents: true}",
	} {
		_, err := Load("test.yaml", []byte(planOn("  j: "+drive+"\n")))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", drive, err, want)
		}
	}
	libvirt := planOn("  j: {passthrough: /dev/sdx, destroy: a}\n") + "machine: {libvirt: qemu:///system}\n"
	if _, err := Load("test.yaml", []byte(libvirt)); err == nil || !strings.Contains(err.Error(), "which libvirt cannot do") {
		t.Errorf("passthrough under libvirt: %v", err)
	}
	if _, err := Load("test.yaml", []byte(asks+"machine: {libvirt: xen:///}\n")); err == nil || !strings.Contains(err.Error(), `want qemu:///system`) {
		t.Errorf("another hypervisor: %v", err)
	}
}
