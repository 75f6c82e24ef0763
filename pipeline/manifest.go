package pipeline

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"spindle/pipeline/drive"
	"spindle/pipeline/drive/passthrough"
	"spindle/pipeline/machine/uml"
	"spindle/reports/record"
)

// manifest is everything that a run is made of, written before its first
// sample.
func manifest(env Env, k *Kit, p *Plan) record.Manifest {
	m := record.Manifest{
		Name: p.Name, Spindle: env.Version, Command: env.Command, Started: env.Now().UTC(), Seed: p.Seed,
		Plan:       record.Plan{Path: absolute(p.File), Text: p.Text},
		Compare:    "arm",
		Conditions: p.Grid(),
		Image: record.Image{
			Suite: k.Image.Suite, Hash: k.Image.Hash, Snapshot: p.Image.Snapshot,
			Packages: k.Image.Packages, GuestHash: k.Guest,
		},
		Machine: record.Machine{
			QEMU: k.Version, Accel: string(k.Accel), CPUs: p.Machine.CPUs, CPUModel: "max",
			MemoryBytes: int64(p.Machine.Memory), Host: thisHost(),
		},
	}
	if p.Virtual() {
		m.Machine.CPUModel, m.Machine.AccelWhy = "", uml.DefaultCost.String()
	}
	if p.Machine.Libvirt != "" {
		m.Machine.QEMU += " through libvirt, " + p.Machine.Libvirt
	}
	for _, a := range p.Arms {
		m.Arms = append(m.Arms, record.Arm{Name: a.Name, Kernel: a.Kernel, Sysctl: a.Sysctl, Queue: a.recorded(), Mount: a.Mount, Append: a.Cmdline, Mkfs: a.recordedMkfs(), Control: a.Name == p.control})
	}
	m.Auto = p.autoRecord()
	for _, b := range Layout(p) {
		m.Blocks = append(m.Blocks, b.Cells)
	}
	for _, name := range sortedKeys(k.Kernels) {
		a := k.Kernels[name]
		m.Kernels = append(m.Kernels, record.Kernel{Name: name, Source: a.Source, Version: a.Version, Hash: a.Hash, ConfigHash: fileHash(a.Config)})
	}
	for _, name := range p.Conditions.Drive {
		d := driveRecord(name, p.Drives[name])
		e := k.Early[name]
		d.Early = record.Early{
			ReadSeconds: e.Read.Small.Seconds(), ReadLargeSeconds: e.Read.Large.Seconds(),
			WriteSeconds: e.Write.Small.Seconds(), WriteLargeSeconds: e.Write.Large.Seconds(),
		}
		if disk := k.Disks[name]; disk != nil {
			hostDisk(&d, disk)
		}
		m.Drives = append(m.Drives, d)
	}
	for _, name := range p.Conditions.Filesystem {
		m.Filesystems = append(m.Filesystems, record.Filesystem{Name: name, Mkfs: p.MkfsOptions(name), Mount: p.Mount[name]})
	}
	for _, w := range p.Workloads {
		r := record.Workload{Name: w.Slug(), Title: w.Title(), Metrics: w.Metrics()}
		if n, but := w.Clients(); n > 0 {
			r.Clients, r.Alike = n, fmt.Sprintf("%x", sha256.Sum256([]byte(but)))
		}
		if w.Settings != nil && len(w.Settings.Trace) > 0 {
			r.Untraced = p.twin(w)
		}
		m.Workloads = append(m.Workloads, r)
	}
	return m
}

// driveRecord is a drive with every parameter of its model: profiles change
// from one spindle to the next, and a run must be readable without them.
func driveRecord(name string, s drive.Spec) record.Drive {
	r := record.Drive{Name: name, Profile: s.Profile, Model: s.Describe()}
	if d, err := s.Device(); err == nil { // a plan that loaded has valid drives
		r.Bus, r.QueueDepth, r.SizeBytes = string(d.Bus), d.QueueDepth, int64(d.Size)
	}
	for _, p := range s.Params() {
		r.Params = append(r.Params, record.Param{Name: p.Name, Text: p.Text})
	}
	return r
}

// hostDisk adds what the host's kernel says of a disk that is passed through.
func hostDisk(r *record.Drive, d *passthrough.Disk) {
	cache := "none"
	if d.WriteCache {
		cache = "write back"
	}
	r.SizeBytes = int64(d.Size)
	r.Params = append(r.Params,
		record.Param{Name: "serial", Text: d.ID}, record.Param{Name: "rpm (1: does not rotate)", Text: fmt.Sprint(d.Rotation)},
		record.Param{Name: "write cache", Text: cache}, record.Param{Name: "logical block", Text: fmt.Sprint(d.LogicalBlock, " B")},
		record.Param{Name: "physical block", Text: fmt.Sprint(d.PhysicalBlock, " B")},
	)
}

// absolute keeps a plan's place good for a resume from elsewhere.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// fileHash is the SHA-256 of a file; "" for one that is not there.
func fileHash(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// thisHost names the machine that carries the guests.
func thisHost() record.Host {
	var h record.Host
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
			h.CPU, h.CPUs = cpus[0].ModelName, len(cpus)
		}
		if mem, err := fs.Meminfo(); err == nil && mem.MemTotalBytes != nil {
			h.MemoryBytes = int64(*mem.MemTotalBytes)
		}
	}
	if text, err := os.ReadFile("/etc/os-release"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				h.OS = strings.Trim(name, `"`)
			}
		}
	}
	return h
}

// same says whether samples made now could stand beside those of the run m:
// it names the first thing that changed. A new version of spindle counts only
// by what it would do differently: the layout and the program in the guest.
func same(m, now record.Manifest) error {
	type pair struct{ what, was, is string }
	pairs := []pair{
		{"accelerator", m.Machine.Accel, now.Machine.Accel},
		{"QEMU", m.Machine.QEMU, now.Machine.QEMU},
		{"host", m.Machine.Host.CPU + ", " + m.Machine.Host.Kernel, now.Machine.Host.CPU + ", " + now.Machine.Host.Kernel},
		{"image", m.Image.Hash, now.Image.Hash},
		{"guest program", m.Image.GuestHash, now.Image.GuestHash},
		{"layout", fmt.Sprint(m.Blocks), fmt.Sprint(now.Blocks)},
		{"drives", fmt.Sprint(m.Drives), fmt.Sprint(now.Drives)},
	}
	for i, k := range m.Kernels {
		if i < len(now.Kernels) {
			pairs = append(pairs, pair{"kernel " + k.Name, k.Hash, now.Kernels[i].Hash})
		}
	}
	for _, x := range pairs {
		if x.was == x.is {
			continue
		}
		if len(x.was)+len(x.is) > 200 {
			return fmt.Errorf("%s changed since its samples were made", x.what)
		}
		return fmt.Errorf("%s changed since its samples were made: was %s, is %s", x.what, x.was, x.is)
	}
	return nil
}
