package host

import (
	"fmt"
	"strings"

	"spindle/internal/unit"
)

// Grade is how good or bad a finding is.
type Grade string

const (
	OK      Grade = "ok"
	Note    Grade = "note"    // it works, with the drawback that is named
	Problem Grade = "problem" // something will not work
)

// Finding is one thing about the host and what it means.
type Finding struct {
	Topic string `json:"topic"`
	Grade Grade  `json:"grade"`
	State string `json:"state"`           // what is
	Means string `json:"means,omitempty"` // what follows
	Do    string `json:"do,omitempty"`    // what helps
}

// The default image takes 100 MB, one of Debian's kernels with its modules
// 250 MB and apt's lists of packages 230 MB; the unpacked trees that these are
// made from come on top while they are made.
const (
	littleDisk   = 2 * unit.GiB
	someDisk     = 8 * unit.GiB
	littleMemory = 1 * unit.GiB
	someMemory   = 3 * unit.GiB
)

// judge says what the figures of a report mean.
func judge(r Report, user string) []Finding {
	out := []Finding{
		judgeCPUs(r.CPUs),
		judgeMemory(r.Memory),
		judgeDisk(r.Disk),
		judgeKVM(r.KVM, user),
	}
	if r.Namespaces != nil {
		out = append(out, judgeNamespaces(*r.Namespaces, user))
	}
	return append(out, judgeNoise(r.Noise, r.CPUs)...)
}

func judgeCPUs(n int) Finding {
	f := Finding{Topic: "cpus", Grade: OK, State: fmt.Sprint(n)}
	if n < 2 {
		f.Grade = Note
		f.Means = "the guest and the drive model share one CPU: answers of the drive will often be late, and such samples are thrown away"
	}
	return f
}

func judgeMemory(m Memory) Finding {
	f := Finding{Topic: "memory", Grade: OK, State: fmt.Sprintf("%s available of %s", gib(m.Available), gib(m.Total))}
	switch {
	case m.Available < littleMemory:
		f.Grade = Problem
		f.Means = "no room for a guest: it will swap or be killed"
	case m.Available < someMemory:
		f.Grade = Note
		f.Means = "room for small guests only: the memory of the plan's machine and what its drives store must fit, or the host swaps and samples are late"
	}
	if f.Grade != OK {
		f.Do = "give the plan less memory, for example by scale: 1/8, or stop other programs"
	}
	return f
}

func judgeDisk(d Disk) Finding {
	f := Finding{Topic: "disk", Grade: OK, State: fmt.Sprintf("%s free in %s", gib(d.Free), d.Dir)}
	switch {
	case d.Error != "":
		f.Grade = Problem
		f.State = d.Error
		f.Means = "the cache directory cannot be used"
	case d.Free < littleDisk:
		f.Grade = Problem
		f.Means = "an image and a kernel do not fit while they are built"
	case d.Free < someDisk:
		f.Grade = Note
		f.Means = "room for an image and a few kernels only"
	}
	if f.Grade != OK {
		f.Do = "free some space or choose another cache directory"
	}
	return f
}

func judgeKVM(k KVM, user string) Finding {
	f := Finding{Topic: "kvm", Grade: Note, State: "/dev/kvm " + string(k.State)}
	if k.State == KVMOpens {
		f.Grade = OK
		f.Means = "guests will try it; only a boot shows whether it works"
		return f
	}
	// Measured with Debian's 6.12 kernel on one CPU of 2026: buffered dd to ext4
	// reaches 108 MB/s on an idle host, much less on a busy one.
	f.Means = "guests are emulated (TCG): a boot takes some 20 s, and with drives of more than some 60 MB/s the emulator is measured, not the kernel"
	switch {
	case k.State == KVMPermission:
		f.Do = "sudo usermod --append --groups kvm " + user + ", then log in again"
	case k.State == KVMBroken:
		f.State += ": " + k.Error
	case k.Flag == "vmx":
		f.Do = "sudo modprobe kvm_intel"
	case k.Flag == "svm":
		f.Do = "sudo modprobe kvm_amd"
	default:
		f.Do = "the CPU does not offer it: switch virtualization on in the firmware, or nested virtualization in the hypervisor above"
	}
	return f
}

func judgeNamespaces(n Namespaces, user string) Finding {
	f := Finding{Topic: "subuid", Grade: OK, State: fmt.Sprintf("%d user and %d group ids for %s", n.UIDs, n.GIDs, user)}
	switch {
	case !n.enough():
		f.Grade = Problem
		f.Means = fmt.Sprintf("an ordinary user needs %d of both to make a root file system", idsNeeded)
		f.Do = n.grant(user)
	case !n.Allowed:
		f.Grade = Problem
		f.State = "user namespaces are switched off"
		f.Means = "only root can make a root file system here"
		f.Do = "sudo sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000"
	}
	return f
}

// judgeNoise gives one finding for what runs beside and one for what a
// hypervisor takes. The limits are where figures begin to be seen in samples;
// they are no promise, the report shows each sample's own.
func judgeNoise(n Noise, cpus int) []Finding {
	beside := Finding{Topic: "load", Grade: OK, State: fmt.Sprintf("%.2f on %s", n.Load1, plural(cpus, "CPU"))}
	if n.Pressure {
		beside.State += fmt.Sprintf("; waiting for CPU %s, disk %s, memory %s of the time",
			percent(n.PressureCPU), percent(n.PressureIO), percent(n.PressureMemory))
	} else {
		beside.State += "; the kernel keeps no pressure figures"
	}
	var busy []string
	if n.Load1 > float64(cpus)/2 || n.PressureCPU > 0.10 {
		busy = append(busy, "CPUs")
	}
	if n.PressureIO > 0.10 {
		busy = append(busy, "disks")
	}
	if n.PressureMemory > 0.01 {
		busy = append(busy, "memory")
	}
	if len(busy) > 0 {
		beside.Grade = Note
		beside.Means = "other programs use the " + strings.Join(busy, ", ") + ": samples scatter more, and some will be too late to count"
		beside.Do = "stop what else runs while samples are taken"
	}
	steal := Finding{Topic: "steal", Grade: OK, State: percent(n.Steal) + " of CPU time taken by a hypervisor"}
	if n.Steal > 0.01 {
		steal.Grade = Note
		steal.Means = "this host is a guest itself and its CPUs stop now and then: the drive's answers will be late at those times"
		steal.Do = "use a host whose CPUs are its own"
	}
	return []Finding{beside, steal}
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

// gib gives a size as people read it.
func gib(s unit.Size) string { return fmt.Sprintf("%.1f GiB", float64(s)/float64(unit.GiB)) }

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
