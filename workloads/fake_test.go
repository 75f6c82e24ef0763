package workloads

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test program is also its own helper, as spindle-guest is.
func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if code, ok := Role(ctx, []string{os.Args[0]}, os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fakeSystem is a guest in a directory: one drive "sda" with the serial "d0",
// whose node is a plain file of 8 MiB, and sysctls. Programs are this host's,
// but for mkfs and mount, which are scripts in the directory bin.
func fakeSystem(t *testing.T) System {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		"sys/block/sda/serial":               "d0\n",
		"sys/block/sda/size":                 "16384\n",
		"sys/block/sda/stat":                 "0 0 0 0 0 0 0 0 0 0 0\n",
		"sys/block/sda/dev":                  "8:0\n",
		"sys/block/sda/queue/scheduler":      "none [mq-deadline] bfq\n",
		"sys/block/sda/queue/nr_requests":    "64\n",
		"sys/block/sda/queue/rotational":     "1\n",
		"sys/block/sda/queue/wbt_lat_usec":   "75000\n",
		"sys/block/sda/device/queue_depth":   "32\n",
		"sys/devices/system/cpu/online":      "0-1\n",
		"proc/sys/vm/dirty_ratio":            "20\n",
		"proc/sys/vm/dirty_background_ratio": "10\n",
		"proc/meminfo":                       "MemTotal:        1048576 kB\nMemFree: 1 kB\n",
		"proc/diskstats":                     "8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n",
		"proc/stat":                          "cpu  100 0 100 700 0 0 0 0 0 0\n",
		"proc/vmstat":                        "nr_dirty 1\nnr_writeback 1\nnr_dirtied 1\nnr_written 1\nnr_dirty_threshold 1\nnr_dirty_background_threshold 1\n",
		"proc/self/mounts":                   "/dev/sda " + root + "/mnt ext4 rw,noatime 0 0\n",
		"modules/modules.json":               `{"release": "6.12", "order": []}`,
		"dev/sda":                            strings.Repeat("\x00", 8<<20),
	} {
		put(t, filepath.Join(root, name), text)
	}
	return System{
		Root: root, Modules: filepath.Join(root, "modules"), Mount: filepath.Join(root, "mnt"),
		Self: []string{self}, FindFor: 50 * time.Millisecond, Quiet: 20 * time.Millisecond,
		Uname: func() string { return "6.12.0-test" }, Sync: func() {},
		Kmsg: func() (string, error) { return "<6>[    1.000000] all is well\n", nil },

		MountBlkio: func(string) error { return errors.New("not here") },
	}
}

// script puts a shell script in the place of a program.
func script(t *testing.T, name, body string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	put(t, path, "#!/bin/sh\n"+body+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// recorder is a host that notes what the job told it, and what was there then.
type recorder struct {
	told []string
	at   func() string
}

func (r *recorder) handshake() Handshake {
	tell := func(what string) error {
		if r.at != nil {
			what = fmt.Sprintf("%s (%s)", what, r.at())
		}
		r.told = append(r.told, what)
		return nil
	}
	return Handshake{
		Ready: func() error { return tell("ready") },
		Done:  func() error { return tell("done") },
	}
}
