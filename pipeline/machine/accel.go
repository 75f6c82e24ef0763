package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/progress"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// AccelFile is where ProbeAccel keeps what it found, in its cache directory.
const AccelFile = "accelerator.json"

// probeLimit bounds a probe's boot. With a KVM that works the init speaks after
// a second.
const probeLimit = 15 * time.Second

// ProbeAccel finds out whether KVM works on this host. A /dev/kvm that opens
// proves nothing: on some hosts QEMU then aborts, on others the guest hangs
// before its first line. So the machine of cfg, without its disks, is booted
// until its init speaks, which takes no longer than 15 s. What came of it is
// kept in cacheDir until the host's kernel, CPU, QEMU or user changes; that KVM
// does not work, only until the host boots again.
//
// If cfg.Accel says TCG, nothing is probed. If it says KVM and that does not
// work, the error is the plan's. Else what does not work becomes TCG, with a
// line to log that says why.
func ProbeAccel(ctx context.Context, cfg Config, cacheDir string, log *progress.Log) (Accel, error) {
	h, err := thisHost(ctx, cfg.QEMU)
	if err != nil {
		return "", fmt.Errorf("find accelerator: %w", err)
	}
	return prober{device: "/dev/kvm", host: h, limit: probeLimit, dir: cacheDir, log: log}.probe(ctx, cfg)
}

// host is what the result of a probe depends on.
type host struct {
	Release string `json:"kernel"` // uname -r
	CPU     string `json:"cpu"`
	QEMU    string `json:"qemu"`
	User    int    `json:"uid"`
	Boot    string `json:"boot_id"` // of this run of the host's kernel
}

type probed struct {
	Host host   `json:"host"`
	KVM  bool   `json:"kvm"`
	Why  string `json:"why,omitempty"` // it does not work
}

func thisHost(ctx context.Context, qemu string) (host, error) {
	if qemu == "" {
		qemu = DefaultQEMU
	}
	version, err := Version(ctx, qemu)
	if err != nil {
		return host{}, err
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return host{}, fmt.Errorf("ask for the host's kernel: %w", err)
	}
	cpus, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return host{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return host{}, err
	}
	return host{
		Release: unix.ByteSliceToString(u.Release[:]), CPU: cpuModel(string(cpus)),
		QEMU: version, User: os.Geteuid(), Boot: strings.TrimSpace(string(boot)),
	}, nil
}

// cpuModel gives the model name of the first CPU in /proc/cpuinfo.
func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

type prober struct {
	device string
	host   host
	limit  time.Duration
	dir    string
	log    *progress.Log
}

func (p prober) probe(ctx context.Context, cfg Config) (Accel, error) {
	if cfg.Accel == TCG {
		return TCG, nil
	}
	why, err := p.ask(ctx, cfg)
	switch {
	case err != nil:
		return "", fmt.Errorf("find accelerator: %w", err)
	case why == "":
		return KVM, nil
	case cfg.Accel == KVM:
		return "", &fault.Error{Kind: fault.Plan, Reason: "accel", Err: fmt.Errorf("accel: kvm: %s", why),
			Hint: "leave accel out of the plan to take what works, or say tcg"}
	}
	p.log.Printf("accelerator: tcg, many times slower than kvm: %s", why)
	return TCG, nil
}

// ask gives "" if KVM works, or why it does not.
func (p prober) ask(ctx context.Context, cfg Config) (why string, err error) {
	if why, known := p.known(); known {
		return why, nil
	}
	p.log.Printf("accelerator: trying kvm, at most %v", p.limit)
	if why, err = p.boot(ctx, cfg); err != nil {
		return "", err
	}
	return why, p.remember(probed{Host: p.host, KVM: why == "", Why: why})
}

// known gives what can be told without a boot.
func (p prober) known() (why string, known bool) {
	f, err := os.OpenFile(p.device, os.O_RDWR, 0)
	if err != nil {
		return err.Error(), true // "open /dev/kvm: permission denied"
	}
	f.Close()
	old, ok := p.remembered()
	if ok && !old.KVM {
		old.Why = "kvm did not work when it was tried; " + p.file() + " says why, and removed has it tried again"
	}
	return old.Why, ok
}

// KVMFails says why KVM does not work on this host, as far as that is known
// without a boot: what ProbeAccel keeps in cacheDir, or that there is no device
// to open. It is "" if KVM works or nobody has tried.
func KVMFails(ctx context.Context, qemu, cacheDir string) (why string, err error) {
	h, err := thisHost(ctx, qemu)
	if err != nil {
		return "", fmt.Errorf("look up accelerator: %w", err)
	}
	why, _ = prober{device: "/dev/kvm", host: h, dir: cacheDir}.known()
	return why, nil
}

func (p prober) file() string { return filepath.Join(p.dir, AccelFile) }

// remembered gives an earlier result, if it still holds.
func (p prober) remembered() (probed, bool) {
	b, err := os.ReadFile(p.file())
	if err != nil {
		return probed{}, false
	}
	var old probed
	if json.Unmarshal(b, &old) != nil {
		return probed{}, false
	}
	now := p.host
	if old.KVM {
		now.Boot = old.Host.Boot
	}
	return old, old.Host == now
}

func (p prober) remember(r probed) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	return renameio.WriteFile(p.file(), append(b, '\n'), 0o644, renameio.WithTempDir(p.dir))
}

// boot gives "" if the machine came to its init under KVM, or why it did not.
// The error is that of a probe that could not be made.
func (p prober) boot(ctx context.Context, cfg Config) (why string, err error) {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return "", err
	}
	dir, remove, err := proc.TempDir(ctx, p.dir, "probe")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	cfg.Accel, cfg.Drives, cfg.Root, cfg.Dir, cfg.Sockets, cfg.Console = KVM, nil, "", dir, dir, nil
	cfg.BootLimit = 2 * p.limit // ours comes first
	ctx, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	m, err := Start(ctx, cfg)
	if err != nil {
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Sprintf("QEMU did not come up within %v", p.limit), nil
		case ctx.Err() != nil, fault.Reason(err) != string(Refused):
			return "", err
		}
		return lastLine(err), nil
	}
	defer m.Close()
	select {
	case <-m.init:
		return "", nil
	case <-m.Done():
		select {
		case <-m.init: // it spoke, and then had no reason to stay
			return "", nil
		default:
		}
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return "", context.Cause(ctx)
	}
	lines, _, _ := m.console.state()
	if ctx.Err() != nil {
		return fmt.Sprintf("/dev/kvm opens, but within %v the guest printed %d lines and did not come to its init", p.limit, lines), nil
	}
	return "/dev/kvm opens, but the guest did not come to its init: " + m.Ending().Detail, nil
}

// lastLine gives what QEMU said last, which for an abort is why.
func lastLine(err error) string {
	said := strings.Split(strings.TrimSpace(fault.Tail(err)), "\n")
	if last := said[len(said)-1]; last != "" {
		return "QEMU does not start with it: " + last
	}
	return err.Error()
}
