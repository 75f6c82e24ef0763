package host

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/prometheus/procfs"
)

// KVMState is how far one gets with /dev/kvm without booting anything.
type KVMState string

const (
	KVMAbsent     KVMState = "absent"
	KVMPermission KVMState = "no permission"
	KVMBroken     KVMState = "does not open"
	KVMOpens      KVMState = "opens"
)

// KVM is the state of the host's hardware virtualization.
type KVM struct {
	State KVMState `json:"state"`
	Flag  string   `json:"cpu_flag,omitempty"` // "vmx" or "svm", if the CPU says that it can
	Error string   `json:"error,omitempty"`    // of opening the device
}

func readKVM(env Env, proc procfs.FS) KVM {
	k := KVM{State: KVMOpens}
	if cpus, err := proc.CPUInfo(); err == nil && len(cpus) > 0 {
		for _, flag := range []string{"vmx", "svm"} {
			if slices.Contains(cpus[0].Flags, flag) {
				k.Flag = flag
			}
		}
	}
	open := env.OpenKVM
	if open == nil {
		open = openDevice
	}
	if err := open(env.path("/dev/kvm")); err != nil {
		k.Error = err.Error()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			k.State, k.Error = KVMAbsent, ""
		case errors.Is(err, fs.ErrPermission):
			k.State = KVMPermission
		default:
			k.State = KVMBroken
		}
	}
	return k
}

func openDevice(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
