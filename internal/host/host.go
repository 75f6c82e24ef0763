package host

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/prometheus/procfs"

	"spindle/internal/unit"
)

// Env is where to look and who asks.
type Env struct {
	Root     string        // the host's root directory; "" is "/"
	Path     []string      // directories of $PATH
	UID      int           // of the person who asks
	User     string        // their name, as in /etc/subuid
	CacheDir string        // where kernels and images will be kept; it need not exist yet, and is not below Root
	CPUs     int           // that we may use; 0 counts those of Root
	Watch    time.Duration // how long to watch for stolen CPU time; 0 takes the mean since boot

	// OpenKVM opens and closes /dev/kvm below Root for reading and writing; nil
	// does just that.
	OpenKVM func(path string) error
	// Free gives the room on a directory's file system; nil asks the kernel.
	Free func(dir string) (unit.Size, error)
}

// Report is what there is.
type Report struct {
	Distribution Distribution `json:"distribution"`
	Needs        []Need       `json:"needs"` // all of them, found or not
	CPUs         int          `json:"cpus"`
	Memory       Memory       `json:"memory"`
	Disk         Disk         `json:"disk"`
	Noise        Noise        `json:"noise"`
	KVM          KVM          `json:"kvm"`
	Namespaces   *Namespaces  `json:"namespaces,omitempty"` // nil for root, who needs none
	Findings     []Finding    `json:"findings"`             // what of this is good or bad, and why

	root bool // root asks
}

// Look looks at a host. It takes env.Watch long. The error is that of ctx, or of
// a /proc that is not Linux's.
func Look(ctx context.Context, env Env) (Report, error) {
	if env.Root == "" {
		env.Root = "/"
	}
	fs, err := procfs.NewFS(env.path("/proc"))
	if err != nil {
		return Report{}, fmt.Errorf("look at host: %w", err)
	}
	r := Report{root: env.UID == 0, CPUs: env.CPUs}
	r.Distribution = readDistribution(env)
	r.Needs = findNeeds(env, r.Distribution)
	if r.Memory, err = readMemory(fs); err != nil {
		return Report{}, fmt.Errorf("look at host: %w", err)
	}
	if r.CPUs == 0 {
		if r.CPUs, err = countCPUs(fs); err != nil {
			return Report{}, fmt.Errorf("look at host: %w", err)
		}
	}
	r.Disk = readDisk(env)
	r.KVM = readKVM(env, fs)
	if !r.root {
		n := readNamespaces(env)
		r.Namespaces = &n
	}
	if r.Noise, err = readNoise(ctx, fs, env.Watch); err != nil {
		return Report{}, fmt.Errorf("look at host: %w", err)
	}
	r.Findings = judge(r, env.User)
	return r, nil
}

// path gives the real place of one of the host's paths.
func (env Env) path(elem ...string) string {
	return filepath.Join(append([]string{env.Root}, elem...)...)
}
