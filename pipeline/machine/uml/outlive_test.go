package uml_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"spindle/pipeline/machine/uml"
)

// runForKill names the variable under which the test binary runs a guest, to be
// killed.
const runForKill = "SPINDLE_TEST_RUN"

func TestMain(m *testing.M) {
	if text := os.Getenv(runForKill); text != "" {
		var cfg uml.Config
		if err := json.Unmarshal([]byte(text), &cfg); err != nil {
			panic(err)
		}
		_, err := uml.Run(context.Background(), cfg)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Nothing of a guest is left behind by a process that is killed: not its kernel,
// and not the processes in which its programs run.
func TestNothingOutlivesUs(t *testing.T) {
	cfg := config(t, "loop")
	cfg.Limit = 1000 * time.Hour
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), runForKill+"="+string(text))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var all []int
	for range 200 {
		// The kernel, and a program of the guest's that it traces.
		if all = below(cfg.Temp); len(all) >= 2 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if len(all) < 2 {
		t.Fatalf("processes of the guest: %v, want 2 or more", all)
	}
	cmd.Process.Kill()
	for range 100 {
		if all = below(cfg.Temp); len(all) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("processes %v are there 10 s after their parent was killed", all)
}

// below gives the living processes whose working directory is dir: those of a
// guest.
func below(dir string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, l := range links {
		if to, err := os.Readlink(l); err != nil || to != dir {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(l)))
		stat, rerr := os.ReadFile(filepath.Join(filepath.Dir(l), "stat"))
		if err != nil || rerr != nil || strings.Contains(string(stat), ") Z ") {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}
