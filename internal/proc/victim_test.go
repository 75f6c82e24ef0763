package proc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// victim is what the test binary does when it is there to be killed. Its first
// argument is a directory to work in, the others are for sleep(1).
func victim(play string) {
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "victim:", err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	parent, naps := os.Args[1], os.Args[2:]
	start := func(script string) {
		_, err := Start(ctx, Cmd{Path: "sh", Args: append([]string{"-c", script, "sh"}, naps...), Stdout: os.Stdout})
		check(err)
	}
	temp := func() {
		dir, _, err := TempDir(ctx, parent, "a dir")
		check(err)
		check(os.MkdirAll(filepath.Join(dir, "x/y"), 0o755))
		fmt.Println("dir=" + dir)
	}
	switch play {
	case "plain":
		// A session of its own, an empty environment, and an ordinary child.
		start(`setsid sleep $1 & env -i sleep $2 & sleep $3`)
		temp()
	case "guardian dies":
		start(`setsid sleep $1 & env -i sleep $2 & sleep $3`)
		before := guardian(os.Getpid())
		check(syscall.Kill(before, syscall.SIGKILL))
		for guardian(os.Getpid()) == before {
			time.Sleep(time.Millisecond)
		}
		temp() // needs one, so there is a new one
	case "guardian is signalled":
		start(`setsid sleep $1 & env -i sleep $2 & sleep $3`)
		temp()
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
			pid := guardian(os.Getpid())
			if pid == 0 {
				check(fmt.Errorf("the guardian died before %v", s))
			}
			check(syscall.Kill(pid, s))
		}
	case "both die":
		temp()
		check(syscall.Kill(guardian(os.Getpid()), syscall.SIGKILL))
	case "only the kernel":
		_, err := Start(ctx, Cmd{Path: "sleep", Args: naps})
		check(err)
		check(syscall.Kill(guardian(os.Getpid()), syscall.SIGKILL))
	case "mount":
		point := filepath.Join(parent, "mount point")
		_, err := Mounted(point)
		check(err)
		check(syscall.Mount("none", point, "tmpfs", 0, "size=1m"))
	case "nest":
		self, err := os.Executable()
		check(err)
		_, err = Start(ctx, Cmd{
			Path: self, Args: os.Args[1:], Stdout: os.Stdout,
			Env: append(os.Environ(), "PROC_VICTIM=plain"),
		})
		check(err)
		select {} // the inner one says ready
	}
	fmt.Println("token=" + theGuard().token)
	fmt.Println("ready=")
	select {}
}

// guardian gives the process id of a process's guardian, or 0.
func guardian(parent int) int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if fields[1] == strconv.Itoa(parent) && fields[0] != "Z" && strings.Contains(string(args), "\x00spindle-guard\x00") {
			return pid
		}
	}
	return 0
}

func TestNothingOutlivesSIGKILL(t *testing.T) {
	for _, name := range []string{"plain", "guardian dies", "guardian is signalled", "nest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			naps := []string{sleeper(), sleeper(), sleeper()}
			cmd, said := play(t, name, append([]string{t.TempDir()}, naps...)...)
			for _, nap := range naps {
				eventually(t, "sleep "+nap+" runs", func() bool { return len(running("sleep", nap)) == 1 })
			}
			if gone(said["dir"]) {
				t.Fatal("no temporary directory to begin with")
			}
			if len(running("spindle-guard", "watch", said["token"])) != 1 {
				t.Fatal("no guardian to begin with")
			}
			kill9(t, cmd)
			for _, nap := range naps {
				eventually(t, "sleep "+nap+" is gone", func() bool { return len(running("sleep", nap)) == 0 })
			}
			eventually(t, "the directory is gone", func() bool { return gone(said["dir"]) })
			eventually(t, "its guardian is gone", func() bool { return len(running("spindle-guard", "watch", said["token"])) == 0 })
		})
	}
}

// Without a guardian PR_SET_PDEATHSIG still ends the children themselves.
func TestChildrenDieWithoutAGuardian(t *testing.T) {
	nap := sleeper()
	cmd, _ := play(t, "only the kernel", t.TempDir(), nap)
	if len(running("sleep", nap)) != 1 {
		t.Fatal("no child to begin with")
	}
	kill9(t, cmd)
	eventually(t, "gone", func() bool { return len(running("sleep", nap)) == 0 })
}

func TestMountDoesNotOutliveSIGKILL(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting takes root")
	}
	parent := t.TempDir()
	point := filepath.Join(parent, "mount point")
	if err := os.Mkdir(point, 0o755); err != nil {
		t.Fatal(err)
	}
	mounted := func() bool {
		info, _ := os.ReadFile("/proc/self/mountinfo")
		return strings.Contains(string(info), strings.ReplaceAll(point, " ", `\040`))
	}
	cmd, _ := play(t, "mount", parent)
	if !mounted() {
		t.Fatal("not mounted to begin with")
	}
	kill9(t, cmd)
	eventually(t, "unmounted", func() bool { return !mounted() })
}

func TestSweep(t *testing.T) {
	parent := t.TempDir()
	mine, remove, err := TempDir(t.Context(), parent, "mine")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"strange", "notes.tmp-1234", "x.tmp-0123456789abcdef-old"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(parent, "file.tmp-0123456789abcdef"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd, said := play(t, "both die", parent)
	if removed, err := Sweep(t.Context(), parent); err != nil || len(removed) != 0 {
		t.Fatalf("while both are in use: removed %q, %v", removed, err)
	}
	kill9(t, cmd)
	if gone(said["dir"]) {
		t.Fatal("removed although the guardian is dead: the test tests nothing")
	}
	removed, err := Sweep(t.Context(), parent)
	if err != nil || len(removed) != 1 || removed[0] != said["dir"] || !gone(said["dir"]) {
		t.Errorf("removed %q, %v; want %q", removed, err, said["dir"])
	}
	if err := remove(); err != nil || !gone(mine) {
		t.Errorf("remove: %v", err)
	}
	entries, _ := os.ReadDir(parent)
	if len(entries) != 4 {
		t.Errorf("left: %v, want the four strangers", entries)
	}
	if _, err := Sweep(t.Context(), filepath.Join(parent, "none")); err == nil {
		t.Error("no error for a directory that does not exist")
	}
}

// PR_SET_PDEATHSIG fires when the forking thread ends. A goroutine that
// returns while locked to its thread ends the thread.
func TestChildOutlivesTheThreadThatAskedForIt(t *testing.T) {
	var children []*Process
	for range 5 {
		started := make(chan *Process)
		go lockedGoroutine(func() {
			p, err := Start(context.Background(), Cmd{Path: "sleep", Args: []string{sleeper()}})
			if err != nil {
				t.Error(err)
			}
			started <- p
		})
		children = append(children, <-started)
	}
	if t.Failed() {
		return
	}
	time.Sleep(100 * time.Millisecond) // threads end
	for _, p := range children {
		select {
		case <-p.Done():
			t.Errorf("child %d ended: %v", p.Pid(), p.Wait())
		default:
		}
		p.Kill()
		p.Wait()
	}
}
