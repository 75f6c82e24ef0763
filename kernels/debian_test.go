package kernels

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/internal/store/storetest"
)

// TestDebianKernel takes a real kernel apart.
func TestDebianKernel(t *testing.T) {
	proctest.Need(t, "apt-get", "dpkg-deb", "depmod", "modprobe")
	cache, s := storetest.User(t)
	env := Env{Store: s, AptDir: filepath.Join(cache, "apt")}
	a, err := Make(t.Context(), env, Source{Deb: "linux-image-6.12-cloud-amd64"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(a.Version, "6.12.") || !strings.HasSuffix(a.Version, "-cloud-amd64") {
		t.Errorf("version %s", a.Version)
	}
	if want := "linux-image-" + a.Version + "="; !strings.HasPrefix(a.Source, want) {
		t.Errorf("source %s, want %s...", a.Source, want)
	}
	if filepath.Base(a.Boot) != "vmlinux" {
		t.Errorf("Debian's kernels have an entry for PVH, this boots %s", a.Boot)
	}
	c, err := a.ReadConfig()
	if err != nil {
		t.Fatal(err)
	}
	if !c.Has("CONFIG_PVH") || c.Value("CONFIG_CC_VERSION_TEXT") == "" {
		t.Errorf("PVH=%q, compiler %q", c.Value("CONFIG_PVH"), c.Value("CONFIG_CC_VERSION_TEXT"))
	}
	lacks, err := a.Lacks(Need{Filesystem: "f2fs", Scheduler: "bfq", Bus: "ahci"})
	if d := cmp.Diff([]string{"f2fs: CONFIG_F2FS_FS is not set"}, lacks); d != "" || err != nil {
		t.Errorf("%s, %v", d, err)
	}
	if unpack, err := a.Unpack(); unpack || err != nil {
		t.Errorf("unpack %v, %v", unpack, err)
	}

	t.Run("as modprobe does", func(t *testing.T) { asModprobe(t, a) })

	t.Run("pinned", func(t *testing.T) {
		// What is in the store is found without apt.
		again, err := Make(t.Context(), Env{Store: s, AptDir: "/dev/null/none"}, Source{Deb: a.Source})
		if err != nil || again != a {
			t.Errorf("%+v, %v", again, err)
		}
	})

	t.Run("no kernel", func(t *testing.T) {
		env := env
		if _, err := Make(t.Context(), env, Source{Deb: "hello"}); fault.Of(err) != fault.Plan || !strings.Contains(err.Error(), "holds no kernel image") {
			t.Error(err)
		}
	})

	t.Run("same bytes", func(t *testing.T) {
		if testing.Short() {
			t.Skip("downloads the kernel again")
		}
		env.Store = openStore(t)
		again, err := Make(t.Context(), env, Source{Deb: a.Source})
		if err != nil {
			t.Fatal(err)
		}
		if again.Hash != a.Hash || again.Dir == a.Dir {
			t.Errorf("made twice: %+v and %+v", a, again)
		}
		for _, name := range []string{"vmlinux", "kernel.json"} {
			x, err := os.ReadFile(filepath.Join(a.Dir, name))
			y, err2 := os.ReadFile(filepath.Join(again.Dir, name))
			if err != nil || err2 != nil || string(x) != string(y) {
				t.Errorf("%s differs, %v, %v", name, err, err2)
			}
		}
	})
}

// asModprobe compares what Order gives for each module of the tables with what
// modprobe would load. Of several softdep lines for one module, which btrfs
// has, modprobe 30 minds only the first, so it is asked for each of them.
func asModprobe(t *testing.T, a Artifact) {
	text, err := os.ReadFile(filepath.Join(a.ModuleDir(), "modules.softdep"))
	if err != nil {
		t.Fatal(err)
	}
	soft := regexp.MustCompile(`(?m)^softdep (\S+) pre: (\S+)$`).FindAllStringSubmatch(string(text), -1)
	for _, name := range GuestModules() {
		order, err := a.Order(name)
		if err != nil {
			t.Fatal(err)
		}
		var ours []string
		for _, m := range order {
			ours = append(ours, filepath.Join(a.ModuleDir(), m.File))
		}
		theirs := modprobe(t, a, name)
		for n := -1; n != len(theirs); {
			n = len(theirs)
			for _, s := range soft {
				if slices.ContainsFunc(theirs, func(file string) bool { return moduleName(file) == s[1] }) {
					theirs = append(theirs, modprobe(t, a, s[2])...)
				}
			}
			slices.Sort(theirs)
			theirs = slices.Compact(theirs)
		}
		// The order among equals is modprobe's own business; that each comes
		// after what it needs is TestOrder's.
		slices.Sort(ours)
		if d := cmp.Diff(theirs, ours); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// modprobe gives the files that modprobe would load for a name.
func modprobe(t *testing.T, a Artifact, name string) []string {
	// Without the host's configuration, which may have blacklists and options.
	out, _ := proc.Run(t.Context(), proc.Cmd{
		Path: "modprobe",
		Args: []string{"--config", "/dev/null", "--dirname", a.Modules, "--set-version", a.Version, "--show-depends", name},
	})
	var files []string
	for line := range strings.Lines(string(out.Stdout)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "insmod" {
			files = append(files, f[1])
		}
	}
	return files
}
