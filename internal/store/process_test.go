package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// The test binary is also a builder in another process.
func TestMain(m *testing.M) {
	if dir := os.Getenv("STORE_BUILDER"); dir != "" {
		builder(dir)
		return
	}
	os.Exit(m.Run())
}

// builder says "building", and finishes when it reads a line.
func builder(dir string) {
	check := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	s, err := Open(dir)
	check(err)
	k, err := NewKey("thing").Field("f", "a").Sum()
	check(err)
	_, err = s.Make(context.Background(), k, func(_ context.Context, dir string) error {
		check(os.WriteFile(filepath.Join(dir, "builder"), fmt.Append(nil, os.Getpid()), 0o644))
		fmt.Println("building", dir)
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		return err
	})
	check(err)
	fmt.Println("built")
}

// other starts a builder and waits until it builds.
func other(t *testing.T, s *Store) (cmd *exec.Cmd, temp string, finish func()) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_BUILDER="+s.Dir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
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
	lines := bufio.NewScanner(out)
	lines.Scan()
	temp, ok := strings.CutPrefix(lines.Text(), "building ")
	if !ok {
		t.Fatalf("the builder said %q", lines.Text())
	}
	return cmd, temp, func() {
		t.Helper()
		in.Write([]byte("\n"))
		if lines.Scan(); lines.Text() != "built" {
			t.Errorf("the builder said %q", lines.Text())
		}
	}
}

func TestWaitForAnotherProcess(t *testing.T) {
	s, k := open(t), key(t, "a")
	cmd, _, finish := other(t, s)
	go func() {
		time.Sleep(50 * time.Millisecond)
		finish()
	}()
	dir, err := s.Make(t.Context(), k, func(context.Context, string) error {
		return errors.New("built a second time")
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "builder"))
	if err != nil || string(got) != fmt.Sprint(cmd.Process.Pid) {
		t.Errorf("built by %q, want %d (%v)", got, cmd.Process.Pid, err)
	}
}

func TestKilledBuilderLeavesNothingAndHoldsNothing(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		t.Run(fmt.Sprintf("guarded=%v", guarded), func(t *testing.T) {
			s, k := open(t), key(t, "a")
			cmd, temp, _ := other(t, s)
			if !guarded {
				// What a host that stops at once leaves: nobody cleared up.
				kids, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
				if err != nil {
					t.Skip("this kernel lists no children")
				}
				for _, kid := range strings.Fields(string(kids)) {
					var pid int
					fmt.Sscan(kid, &pid)
					syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			cmd.Process.Kill()
			cmd.Wait()
			if _, ok := s.Get(k); ok {
				t.Error("a half-built entry has its name")
			}
			dir, err := s.Make(t.Context(), k, write("x", "y"))
			if err != nil {
				t.Fatal(err)
			}
			for range 1000 { // the guardian takes its time
				if _, err = os.Stat(temp); err != nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			want := []string{"thing", "thing/" + k.Hash(), "thing/" + k.Hash() + "/x", "thing/" + k.Hash() + ".json"}
			if d := cmp.Diff(want, names(t, s)); d != "" {
				t.Error(d)
			}
			if _, err := os.Stat(filepath.Join(dir, "builder")); err == nil {
				t.Error("the entry has something of the killed builder's")
			}
		})
	}
}

func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting takes root")
	}
	mount := t.TempDir()
	if err := syscall.Mount("none", mount, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(mount, syscall.MNT_DETACH) })
	s, err := Open(mount)
	if err != nil {
		t.Fatal(err)
	}
	for name, build := range map[string]func(context.Context, string) error{
		"we write": func(_ context.Context, dir string) error {
			return os.WriteFile(filepath.Join(dir, "big"), make([]byte, 2<<20), 0o644)
		},
		"a program writes": func(ctx context.Context, dir string) error {
			_, err := proc.Run(ctx, proc.Cmd{Path: "dd", Dir: dir, Args: []string{"if=/dev/zero", "of=big", "bs=1M", "count=2"}})
			return err
		},
	} {
		k := key(t, name)
		_, err := s.Make(t.Context(), k, build)
		if fault.Of(err) != fault.Machinery || fault.Reason(err) != "disk-full" || !strings.Contains(fault.Hint(err), mount) {
			t.Errorf("%s: %v (reason %q, hint %q)", name, err, fault.Reason(err), fault.Hint(err))
		}
		if d := cmp.Diff([]string{"thing"}, names(t, s)); d != "" {
			t.Error(name, d)
		}
	}
}

// The kind that a build gives its error stays.
func TestBuildErrorKeepsItsKind(t *testing.T) {
	s := open(t)
	_, err := s.Make(t.Context(), key(t, "a"), func(context.Context, string) error {
		return fault.Kernelf("patch 3 does not apply")
	})
	if fault.Of(err) != fault.Kernel || !strings.HasSuffix(err.Error(), ": patch 3 does not apply") {
		t.Errorf("%v: %v", fault.Of(err), err)
	}
}
