package pipeline

import (
	"testing"

	"spindle/reports/record"
)

func TestGreeting(t *testing.T) {
	for filesystem, want := range map[string]string{
		"xfs":  "tuned, sata xfs bfq dd: xfs is mounted on /mnt/spindle; the drive takes its modelled time; leave with exit",
		"none": "tuned, sata none bfq dd: the drive has no file system, lsblk shows it; the drive takes its modelled time; leave with exit",
	} {
		cell := record.Cell{Arm: "tuned", Condition: record.Condition{Drive: "sata", Filesystem: filesystem, Scheduler: "bfq", Workload: "dd"}}
		if got := greeting(cell); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
