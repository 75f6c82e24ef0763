package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// shells are the ones that are /bin/sh on some distribution, as far as they are
// here: dash on Debian, bash on Fedora and Arch, busybox on Alpine.
func shells(t *testing.T) (out [][]string) {
	for _, s := range [][]string{{"sh"}, {"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(s[0]); err == nil {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		t.Fatal("no shell")
	}
	return out
}

// script runs the guardian's script in one shell until its input ends.
func script(t *testing.T, shell []string, input string, args ...string) {
	t.Helper()
	cmd := exec.Command(shell[0], append(append(shell[1:], "-c", guardScript, "spindle-guard"), args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %v: %s", shell, err, out)
	}
}

func TestGuardianRemovesWhatIsHeldAndNothingElse(t *testing.T) {
	for _, shell := range shells(t) {
		t.Run(shell[0], func(t *testing.T) {
			parent := t.TempDir()
			var lines strings.Builder
			var held, released []string
			for _, name := range []string{
				"plain", "two words", "  blanks ", "-rf", "*", "?", "[a-z]", `back\slash`, `\040`, "it's", `"quoted"`,
				"$HOME", "`id`", "%s%d", "#", "é", "tab\there", "a;b&c|d",
			} {
				for i, list := range []*[]string{&held, &released} {
					dir := filepath.Join(parent, fmt.Sprint(i), name)
					if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
						t.Fatal(err)
					}
					*list = append(*list, dir)
					fmt.Fprintf(&lines, "+dir %s\n", dir)
				}
			}
			for _, dir := range released {
				fmt.Fprintf(&lines, "-dir %s\n", dir)
			}
			fmt.Fprintf(&lines, "-dir %s/never held\n", parent)
			fmt.Fprintf(&lines, "+dir %s", parent) // a line without an end is not a line
			script(t, shell, lines.String(), "watch", "no-such-mark")
			for _, dir := range held {
				if !gone(dir) {
					t.Errorf("%q is still there", dir)
				}
			}
			for _, dir := range released {
				if gone(filepath.Join(dir, "sub")) {
					t.Errorf("%q is gone", dir)
				}
			}
		})
	}
}

// nap starts a process that leads its own group and does not belong to us.
func nap(t *testing.T) (pid int, alive func() bool) {
	t.Helper()
	cmd := exec.Command("sleep", sleeper())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-done
	})
	return cmd.Process.Pid, func() bool {
		select {
		case <-done:
			return false
		default:
			return true
		}
	}
}

func TestGuardianKillsHeldGroupsAndNoStrangers(t *testing.T) {
	for _, shell := range shells(t) {
		t.Run(shell[0], func(t *testing.T) {
			ours, oursAlive := nap(t)
			releasedPid, releasedAlive := nap(t)
			reused, reusedAlive := nap(t)
			start := func(pid int) uint64 {
				s, err := startTime(pid)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			lines := fmt.Sprintf("+pg %d %d\n", ours, start(ours)) +
				fmt.Sprintf("+pg %d %d\n-pg %[1]d %[2]d\n", releasedPid, start(releasedPid)) +
				fmt.Sprintf("+pg %d 1%d\n", reused, start(reused)) // held by a process that started at another time
			script(t, shell, lines, "watch", "no-such-mark")
			eventually(t, "the held group is gone", func() bool { return !oursAlive() })
			if !releasedAlive() || !reusedAlive() {
				t.Errorf("alive: released %v, reused %v; want both", releasedAlive(), reusedAlive())
			}
		})
	}
}

func TestGuardianKillsWhatIsMarked(t *testing.T) {
	for _, shell := range shells(t) {
		t.Run(shell[0], func(t *testing.T) {
			nap := sleeper()
			cmd := exec.Command("sh", "-c", `i=0; while [ $i -lt 20 ]; do setsid sleep $1 & i=$((i+1)); done; sleep $1`, "sh", nap)
			cmd.Env = append(os.Environ(), MarkName+"=feed.1")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				for _, pid := range append(running("sleep", nap), cmd.Process.Pid) {
					syscall.Kill(pid, syscall.SIGKILL)
				}
				cmd.Wait()
			})
			other := exec.Command("sleep", nap+"9")
			other.Env = append(os.Environ(), MarkName+"=feedbeef.1")
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "all run", func() bool { return len(running("sleep", nap)) == 21 })
			script(t, shell, "", "watch", "feed")
			eventually(t, "all gone", func() bool { return len(running("sleep", nap)) == 0 })
			if len(running("sleep", nap+"9")) != 1 {
				t.Error("a process with another mark was killed")
			}
			other.Process.Kill()
			other.Wait()
		})
	}
}

// Processes older than the child are passed over, marked or not: their
// environment may not be readable without hanging.
func TestKillMarkedPassesOverOlderProcesses(t *testing.T) {
	arg := sleeper()
	cmd := exec.Command("sleep", arg)
	cmd.Env = append(os.Environ(), MarkName+"=feed.2")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	start, err := startTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	killMarked(MarkName+"=feed.2", start+1)
	if len(running("sleep", arg)) != 1 {
		t.Error("an older process was killed")
	}
	killMarked(MarkName+"=feed.2", start)
	if err := cmd.Wait(); err == nil {
		t.Error("not killed")
	}
}

// What is mounted in a directory must not be emptied with it.
func TestWipeUnmountsFirst(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting takes root")
	}
	for _, shell := range shells(t) {
		t.Run(shell[0], func(t *testing.T) {
			parent := t.TempDir()
			precious := filepath.Join(parent, "precious", "file")
			dir := filepath.Join(parent, `dir with \ and blank`)
			for _, d := range []string{filepath.Dir(precious), dir + "/a b/c", dir + "-not"} {
				if err := os.MkdirAll(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(precious, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			mount := func(source, target, kind string, flags uintptr) {
				t.Helper()
				if err := syscall.Mount(source, target, kind, flags, ""); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { syscall.Unmount(target, syscall.MNT_DETACH) })
			}
			mount("none", dir+"/a b", "tmpfs", 0)
			if err := os.Mkdir(dir+"/a b/c", 0o755); err != nil {
				t.Fatal(err)
			}
			mount(filepath.Dir(precious), dir+"/a b/c", "", syscall.MS_BIND)
			mount("none", dir+"-not", "tmpfs", 0) // a longer name, not below
			if err := os.WriteFile(dir+"-not/file", nil, 0o644); err != nil {
				t.Fatal(err)
			}
			script(t, shell, "", "wipe", dir)
			if !gone(dir) {
				t.Error("the directory is still there")
			}
			if gone(precious) {
				t.Error("what was mounted was emptied")
			}
			if gone(dir + "-not/file") {
				t.Error("a mount elsewhere was undone")
			}
		})
	}
}

// Directories without write permission stop rm, unless one is root.
func TestWipeReadOnlyDirectories(t *testing.T) {
	const nobody = 65534
	parent, err := os.MkdirTemp("", "wipe") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "dir")
	inner := filepath.Join(dir, "module", "cache")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inner, "file"), nil, 0o444); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", guardScript, "spindle-guard", "wipe", dir)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		for _, path := range []string{parent, dir, filepath.Dir(inner), inner, filepath.Join(inner, "file")} {
			if err := os.Chown(path, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, d := range []string{inner, filepath.Dir(inner), dir} {
		if err := os.Chmod(d, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil || !gone(dir) {
		t.Errorf("%v: %s", err, out)
	}
}

// A directory that cannot be removed stays registered, so that the guardian
// tries once more, and the error says why.
func TestRemoveFails(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("chattr +i takes root")
	}
	if _, err := exec.LookPath("chattr"); err != nil {
		t.Skip("no chattr")
	}
	dir, remove, err := TempDir(t.Context(), t.TempDir(), "stays")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "immutable")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chattr", "+i", file).CombinedOutput(); err != nil {
		t.Skipf("chattr: %s", out)
	}
	err = remove()
	if out, err := exec.Command("chattr", "-i", file).CombinedOutput(); err != nil {
		t.Fatalf("chattr: %s", out)
	}
	if err == nil || !strings.Contains(err.Error(), "remove "+dir+": ") || !strings.Contains(err.Error(), "not permitted") {
		t.Errorf("remove: %v", err)
	}
	held := false
	for _, h := range theGuard().held {
		held = held || h.line == "dir "+dir
	}
	if !held {
		t.Error("no longer registered")
	}
	if err := remove(); err != nil || !gone(dir) {
		t.Errorf("second try: %v", err)
	}
}

func TestGuardRefusesPaths(t *testing.T) {
	for _, path := range []string{"/", "/tmp/..", "/a\nb", "/" + strings.Repeat("x", longestPath)} {
		if _, err := Mounted(path); err == nil {
			t.Errorf("%.20q was accepted", path)
		}
	}
	if _, _, err := TempDir(t.Context(), filepath.Join(t.TempDir(), "none"), "x"); err == nil {
		t.Error("a directory in one that does not exist")
	}
}

func TestMountedIsReleased(t *testing.T) {
	release, err := Mounted(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := len(theGuard().held)
	release()
	release()
	if got := len(theGuard().held); got != n-1 {
		t.Errorf("%d held, want %d", got, n-1)
	}
}
