package machine

import "testing"

// Lines from kernels' logs as people posted them to mailing lists and bug
// trackers, and as Debian's 6.1 and 6.12 print them in the tests' guests.
func TestFind(t *testing.T) {
	tests := map[string]Reason{
		"[    2.731404] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000700":                         Panic,
		"[    2.053961] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)":                  Panic,
		"[  239.108215][    C1] Kernel panic - not syncing: Fatal exception in interrupt":                                Panic,
		"[    2.731404] ---[ end Kernel panic - not syncing: sysrq triggered crash ]---":                                 Panic,
		"[ 9101.371141] BUG: unable to handle kernel NULL pointer dereference at 0000000000000008":                       Oops,
		"[   84.437406] BUG: kernel NULL pointer dereference, address: 0000000000000060":                                 Oops,
		"[ 9101.390353] Oops: 0000 [#1] SMP PTI":                                                                         Oops,
		"[   84.437483] Oops: Oops: 0002 [#1] PREEMPT SMP NOPTI":                                                         Oops,
		"Oops: general protection fault, probably for non-canonical address 0xdffffc0000000007: 0000 [#1] SMP KASAN PTI": Oops,
		"[   35.1] general protection fault, probably for non-canonical address 0x6b6b6b6b6b6b6b6b: 0000 [#1] SMP":       Oops,
		"[   73.556421] invalid opcode: 0000 [#1] PREEMPT SMP":                                                           Oops,
		"[   73.556420] kernel BUG at fs/ext4/inode.c:2721!":                                                             Oops,
		"[  101.000001] BUG: KASAN: slab-use-after-free in wb_writeback+0x5d1/0x7c0":                                     Oops,
		"[  101.000001] BUG: KFENCE: use-after-free read in blk_mq_free_request":                                         Oops,
		"[   12.000001] BUG: Bad page state in process dd  pfn:10a3f":                                                    Oops,
		"[   12.000001] BUG: scheduling while atomic: kworker/0:1/12/0x00000002":                                         Oops,
		"[135992.726715] Internal error: Oops: 17 [#2] ARM":                                                              Oops,

		"[ 6141.921740] INFO: task kworker/u8:0:5 blocked for more than 120 seconds.":                              Hang,
		"[  242.824739][ T1645] INFO: task systemd-udevd:2296 blocked for more than 120 seconds.":                  Hang,
		"[  242.8] INFO: task dd:233 blocked in I/O wait for more than 122 seconds.":                               Hang,
		"watchdog: BUG: soft lockup - CPU#0 stuck for 44s! [exportfs:1234]":                                        Hang,
		"[   36.000001] NMI watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [dd:301]":                            Hang,
		"[   36.000001] watchdog: Watchdog detected hard LOCKUP on cpu 0":                                          Hang,
		"[   36.000001] BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 43s!":                Hang,
		"[  975.847953] rcu: INFO: rcu_preempt self-detected stall on CPU":                                         Hang,
		"[  326.587135] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:":                                       Hang,
		"[  326.587135] rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-... } 21 jiffies s: 5": Hang,

		"[    1.100000] WARNING: CPU: 0 PID: 33 at fs/fs-writeback.c:2406 __mark_inode_dirty+0x3a7/0x3e0": Warning,
		"[    1.100000] WARNING: fs/fs-writeback.c:2406 at __mark_inode_dirty+0x3a7/0x3e0, CPU#0: dd/33":  Warning,
		"[    9.100000] WARNING: possible circular locking dependency detected":                           Warning,
		"[    9.100000] WARNING: suspicious RCU usage":                                                    Warning,
		"[    9.100000] BUG: sleeping function called from invalid context at mm/page_alloc.c:5112":       Warning,
		"[    9.100000] BUG: MAX_LOCKDEP_CHAINS too low!":                                                 Warning,
		"[    9.100000] UBSAN: shift-out-of-bounds in block/blk-iocost.c:712:9":                           Warning,

		"[   50.100000] Out of memory: Killed process 214 (spindle-guest) total-vm:1226104kB": OutOfMemory,
		"[   50.100000] Memory cgroup out of memory: Killed process 214 (dd) total-vm:5512kB": OutOfMemory,

		// What only looks like it.
		"": "",
		"[    0.000000] Linux version 6.12.57+deb13-cloud-amd64":                                     "",
		"[    0.000000] Command line: panic=-1 console=ttyS0":                                        "",
		"[    1.000000] DEBUG: 5":                                                                    "",
		"[   22.700000] traps: fio[300] general protection fault ip:7f01 sp:7ffd error:0 in libc.so": "",
		"[  242.821407][ T1645] INFO: task a:1 is blocked on a mutex likely owned by task b:2.":      "",
		"[    5.1] sysrq: Show Blocked State":                                                        "",
		"[    5.1] task:kworker/0:1     state:D stack:0     pid:9     ppid:2":                        "",
		"[    2.1] rcu: Hierarchical SRCU implementation.":                                           "",
		"spindle: fatal: mount: BUG: 5":                                                              "",
	}
	for line, want := range tests {
		got, ok := find(unstamped(line))
		if got != want || ok != (want != "") {
			t.Errorf("%q is found to be %q, want %q", line, got, want)
		}
	}
}

func TestUnstamped(t *testing.T) {
	tests := map[string]string{
		"[    2.731404] text":           "text",
		"[12345.678901] text":           "text",
		"[    2.731404][    T1] text":   "text",
		"[  239.108215][   C12] text":   "text",
		"[    2.731404]   indented":     "  indented",
		"[    2.731404] [drm] text":     "[drm] text",
		"text [    2.731404] more":      "text [    2.731404] more",
		"spindle: ready":                "spindle: ready",
		"[    2.731404] spindle: ready": "spindle: ready",
		"[    2.731404]":                "[    2.731404]",
		"[ OK ] Started something":      "[ OK ] Started something",
	}
	for line, want := range tests {
		if got := unstamped(line); got != want {
			t.Errorf("%q becomes %q, want %q", line, got, want)
		}
	}
}
