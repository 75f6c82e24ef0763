package workloads

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lines of real logs: a boot, and kernels in trouble.
const kernelLogText = `<5>[    0.000000] Linux version 6.12.57+deb13-amd64
<4>[    0.123456] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on
<6>[    0.200000] BIOS-provided physical RAM map:
<6>[    1.000000] EXT4-fs (sda): mounted filesystem r/w with ordered data mode.
<4>[    2.000000] WARNING: CPU: 0 PID: 55 at fs/btrfs/inode.c:100 btrfs_run+0x1/0x2
<3>[  247.123456] INFO: task dd:512 blocked for more than 120 seconds.
<1>[  300.000000][  T512] BUG: kernel NULL pointer dereference, address: 0000000000000000
<3>[  301.000000] blk_update_request: I/O error, dev sda, sector 2048 op 0x1:(WRITE)
<3>[  301.500000] critical medium error, dev sda, sector 2048
<3>[  302.000000] Buffer I/O error on dev sda, logical block 0, lost async page write
<2>[  303.000000] EXT4-fs error (device sda): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0
<1>[  304.000000] XFS (sda): Metadata corruption detected at xfs_agf_read_verify
<0>[  305.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [kworker/0:1:9]
<4>[  306.000000] rcu: INFO: rcu_preempt self-detected stall on CPU
<3>[  307.000000] ata1.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6 frozen
<6>[  308.000000] sysrq: Show Blocked State
<6>[  308.000001] task:dd              state:D stack:0
`

func TestAlarms(t *testing.T) {
	got, first := alarmsIn(kernelLogText)
	want := []string{
		"<4>[    2.000000] WARNING: CPU: 0 PID: 55 at fs/btrfs/inode.c:100 btrfs_run+0x1/0x2",
		"<3>[  247.123456] INFO: task dd:512 blocked for more than 120 seconds.",
		"<1>[  300.000000][  T512] BUG: kernel NULL pointer dereference, address: 0000000000000000",
		"<3>[  301.000000] blk_update_request: I/O error, dev sda, sector 2048 op 0x1:(WRITE)",
		"<3>[  301.500000] critical medium error, dev sda, sector 2048",
		"<3>[  302.000000] Buffer I/O error on dev sda, logical block 0, lost async page write",
		"<2>[  303.000000] EXT4-fs error (device sda): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0",
		"<1>[  304.000000] XFS (sda): Metadata corruption detected at xfs_agf_read_verify",
		"<0>[  305.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [kworker/0:1:9]",
		"<4>[  306.000000] rcu: INFO: rcu_preempt self-detected stall on CPU",
		"<3>[  307.000000] ata1.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6 frozen",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alarms (-want +got):\n%s", diff)
	}
	if first != 5 {
		t.Errorf("first in line %d, want 5", first)
	}
	if n := blockedLine(kernelLogText); n != 16 {
		t.Errorf("blocked tasks in line %d, want 16", n)
	}
	if n := blockedLine("nothing"); n != 0 {
		t.Errorf("blocked tasks in line %d of a log without", n)
	}
}

func FuzzAlarms(f *testing.F) {
	f.Add(kernelLogText)
	f.Fuzz(func(t *testing.T, log string) { alarmsIn(log) })
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"one": "one", "a:\n\tb\n\tc\n": "a: b | c", "\n\n a \n": "a", "": "",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", in, got, want)
		}
	}
}
