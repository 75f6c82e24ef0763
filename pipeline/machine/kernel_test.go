package machine_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/internal/store"
	"spindle/kernels"
	"spindle/pipeline/machine"

	"github.com/u-root/u-root/pkg/cpio"
)

// testKernel is Debian's: bootable by PVH, with AHCI, most of it in modules.
const testKernel = "linux-image-6.12-cloud-amd64"

// fullKernel has drivers for hardware too.
const fullKernel = "linux-image-6.12-amd64"

// testModules are what the tests' disks and port need, of what a kernel has.
func testModules() []string {
	names := kernels.BootModules()
	for _, b := range append(kernels.Buses(), kernels.UAS) {
		names = append(names, kernels.ModulesFor(kernels.Need{Bus: b})...)
	}
	return names
}

// parts is what guests boot, made once for all tests.
type parts struct {
	sync.Once
	kernel, initrd string
	err            error
}

var guestParts = map[string]*parts{testKernel: {}, fullKernel: {}}

// partsDir holds initramfs archives; TestMain makes and removes it.
var partsDir string

// config is a machine that runs the tests' init in the given mode.
func config(t *testing.T, mode string) machine.Config { return configOf(t, testKernel, mode) }

// configOf is the same with another kernel.
func configOf(t *testing.T, kernel, mode string) machine.Config {
	t.Helper()
	proctest.Need(t, "qemu-system-x86_64", "go", "apt-get", "dpkg-deb", "depmod")
	p := guestParts[kernel]
	p.Do(func() { p.kernel, p.initrd, p.err = makeParts(t.Context(), kernel, partsDir) })
	if p.err != nil {
		t.Fatal(p.err)
	}
	return machine.Config{
		Kernel: p.kernel, Initrd: p.initrd, Memory: 256 << 20, Dir: t.TempDir(),
		Append: []string{"spindle.test=" + mode},
	}
}

// cache is where spindle keeps kernels, so that one download serves many runs.
func cache() (string, error) {
	if dir := os.Getenv("SPINDLE_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "spindle"), err
}

func makeParts(ctx context.Context, deb, dir string) (kernel, initrd string, err error) {
	cache, err := cache()
	if err != nil {
		return "", "", err
	}
	s, err := store.Open(filepath.Join(cache, "store"))
	if err != nil {
		return "", "", err
	}
	env := kernels.Env{Store: s, AptDir: filepath.Join(cache, "apt")}
	k, err := kernels.Make(ctx, env, kernels.Source{Deb: deb})
	if err != nil {
		return "", "", err
	}
	init := filepath.Join(dir, "init")
	_, err = proc.Run(ctx, proc.Cmd{
		Path: "go", Args: []string{"build", "-trimpath", "-ldflags=-s -w", "-o", init, "./testdata/init"},
		Env: append(os.Environ(), "CGO_ENABLED=0"),
	})
	if err != nil {
		return "", "", err
	}
	files := map[string]string{"init": init}
	var order []string
	modules, err := k.Order(testModules()...)
	if err != nil {
		return "", "", err
	}
	for _, m := range modules {
		name := filepath.Base(m.File)
		files["modules/"+name] = filepath.Join(k.ModuleDir(), m.File)
		order = append(order, name)
	}
	records := []cpio.Record{
		cpio.Directory("dev", 0o755), cpio.CharDev("dev/console", 0o600, 5, 1),
		cpio.Directory("modules", 0o755),
		cpio.StaticFile("modules/order", strings.Join(order, "\n"), 0o644),
	}
	for name, from := range files {
		data, err := os.ReadFile(from)
		if err != nil {
			return "", "", err
		}
		records = append(records, cpio.StaticFile(name, string(data), 0o755))
	}
	var archive bytes.Buffer
	w := cpio.Newc.Writer(&archive)
	if err := cpio.WriteRecords(w, records); err != nil {
		return "", "", err
	}
	if err := cpio.WriteTrailer(w); err != nil {
		return "", "", err
	}
	initrd = filepath.Join(dir, deb+".cpio")
	return k.Boot, initrd, os.WriteFile(initrd, archive.Bytes(), 0o644)
}

// bootForKill names the variable under which the test binary boots a machine,
// prints the process id of its QEMU and waits to be killed.
const bootForKill = "SPINDLE_TEST_BOOT"

func TestMain(m *testing.M) {
	if args := os.Getenv(bootForKill); args != "" {
		bootAndWait(strings.Split(args, "\n"))
	}
	var err error
	if partsDir, err = os.MkdirTemp("", "machine-test"); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(partsDir)
	os.Exit(code)
}

func bootAndWait(args []string) {
	m, err := machine.Start(context.Background(), machine.Config{
		Kernel: args[0], Initrd: args[1], Dir: args[2], Memory: 256 << 20, Append: []string{"spindle.test=silent"},
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(m.Pid())
	select {}
}
