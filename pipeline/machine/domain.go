package machine

import (
	"fmt"

	"libvirt.org/go/libvirtxml"
)

// domainXML describes the machine to libvirt. Board, memory, CPUs and kernel are
// libvirt's to set up; all other devices are given as QEMU's own arguments,
// the same as those of a QEMU that we start: libvirt has no words for some of
// them (a MegaRAID of the second generation, NVMe, FUA of SCSI disks), and a
// guest must not see other devices for how its QEMU came to be.
func (m *Machine) domainXML(name, emulator string, labels []libvirtxml.DomainSecLabel, devices []device, dir string) (string, error) {
	c := m.cfg
	cmdline := words(append([]device{m.board()}, devices...), c.Append)
	if err := checkCmdline(cmdline); err != nil {
		return "", err
	}
	fs := files{dir: dir}
	var args []libvirtxml.DomainQEMUCommandlineArg
	for _, d := range devices {
		for _, a := range d.qemu(&fs) {
			args = append(args, libvirtxml.DomainQEMUCommandlineArg{Value: a})
		}
	}
	kind := "qemu"
	if c.Accel == KVM {
		kind = "kvm"
	}
	domain := libvirtxml.Domain{
		Type: kind, Name: name,
		Title:  "a guest of spindle, gone when spindle is",
		Memory: &libvirtxml.DomainMemory{Value: uint(c.Memory >> 20), Unit: "MiB"},
		VCPU:   &libvirtxml.DomainVCPU{Value: uint(c.CPUs)},
		OS: &libvirtxml.DomainOS{
			Type:   &libvirtxml.DomainOSType{Arch: "x86_64", Machine: "q35", Type: "hvm"},
			Kernel: c.Kernel, Initrd: c.Initrd, Cmdline: cmdline,
		},
		Features: &libvirtxml.DomainFeatureList{ACPI: &libvirtxml.DomainFeature{}, APIC: &libvirtxml.DomainFeatureAPIC{}},
		CPU:      &libvirtxml.DomainCPU{Mode: "maximum"},
		// A panic is left alone until the kernel has said everything: then it
		// reboots, and that is the end.
		OnPoweroff: "destroy", OnReboot: "destroy", OnCrash: "preserve",
		Devices: &libvirtxml.DomainDeviceList{
			Emulator:    emulator,
			Controllers: []libvirtxml.DomainController{{Type: "usb", Model: "none"}},
			MemBalloon:  &libvirtxml.DomainMemBalloon{Model: "none"},
		},
		SecLabel:        labels,
		QEMUCommandline: &libvirtxml.DomainQEMUCommandline{Args: args},
	}
	text, err := domain.Marshal()
	if err != nil {
		return "", fmt.Errorf("describe the machine to libvirt: %w", err)
	}
	return text, nil
}

// labels has QEMU run as root and unconfined under the security drivers that
// the daemon has: as another user it could not enter the directory of our
// sockets, and libvirt would give away the files of the kernel and the image,
// which many machines share, to that user.
func labels(capabilities string) ([]libvirtxml.DomainSecLabel, error) {
	var caps libvirtxml.Caps
	if err := caps.Unmarshal(capabilities); err != nil {
		return nil, fmt.Errorf("read libvirt's capabilities: %w", err)
	}
	var list []libvirtxml.DomainSecLabel
	for _, model := range caps.Host.SecModel {
		switch model.Name {
		case "none":
		case "dac":
			list = append(list, libvirtxml.DomainSecLabel{Type: "static", Model: "dac", Relabel: "no", Label: "+0:+0"})
		default:
			list = append(list, libvirtxml.DomainSecLabel{Type: "none", Model: model.Name})
		}
	}
	return list, nil
}
