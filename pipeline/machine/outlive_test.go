package machine_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// No QEMU is left behind by a process that is killed.
func TestNothingOutlivesUs(t *testing.T) {
	cfg := config(t, "silent")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), bootForKill+"="+strings.Join([]string{cfg.Kernel, cfg.Initrd, cfg.Dir}, "\n"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(line)
	}
	if !runs(pid) {
		t.Fatalf("QEMU %d does not run", pid)
	}
	cmd.Process.Kill()
	for range 100 {
		if !runs(pid) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("QEMU %d still runs 10 s after its parent was killed", pid)
}

// runs says whether the process is a QEMU that lives.
func runs(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || !strings.Contains(string(b), "(qemu") {
		return false
	}
	_, state, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(state, "Z")
}
