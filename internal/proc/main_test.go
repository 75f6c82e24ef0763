package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the program that gets killed: see victim_test.go.
func TestMain(m *testing.M) {
	if play := os.Getenv("PROC_VICTIM"); play != "" {
		victim(play)
		return
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what must happen. It is no limit on
// speed: a busy host is slow.
const patience = 30 * time.Second

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	start := time.Now()
	for !ok() {
		if time.Since(start) > patience {
			t.Fatalf("not after %v: %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("after %v: %s", time.Since(start).Round(time.Millisecond), what)
}

var sleeps atomic.Int64

// sleeper gives an argument for sleep(1), some 28 hours, that no other process
// on this host has.
func sleeper() string {
	return fmt.Sprintf("1%05d.%d%03d", os.Getpid()%100000, os.Getpid(), sleeps.Add(1))
}

// running gives the processes whose command line has these arguments in a row.
func running(args ...string) (pids []int) {
	want := []byte("\x00" + strings.Join(args, "\x00") + "\x00")
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if bytes.Contains(append([]byte{0}, line...), want) {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

func gone(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

// play starts the test binary as a victim and gives the lines it says, which
// end with "ready".
func play(t *testing.T, name string, args ...string) (*exec.Cmd, map[string]string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "PROC_VICTIM="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	said := map[string]string{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), "=")
		said[key] = value
		if key == "ready" {
			return cmd, said
		}
	}
	t.Fatalf("the victim ended early, and said %v", said)
	return nil, nil
}

// kill9 kills a victim. Its output must end although descendants had it too.
func kill9(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
}
