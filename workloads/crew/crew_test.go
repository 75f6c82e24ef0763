package crew

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test program is its own member, as spindle-guest is.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "member" {
		os.Exit(member(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

func member(what, file string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT)
	defer stop()
	if what == "dies" {
		fmt.Fprintln(os.Stderr, "no luck")
		return 1
	}
	if what == "late" {
		time.Sleep(200 * time.Millisecond)
	}
	if err := Ready(); err != nil {
		return 2
	}
	os.WriteFile(file, []byte(fmt.Sprint(time.Now().UnixNano())), 0o600)
	switch what {
	case "fails":
		return 1
	case "waits":
		<-ctx.Done()
		os.WriteFile(file+".stopped", nil, 0o600)
	}
	return 0
}

func muster(t *testing.T, ctx context.Context, dir string, whats ...string) (*Crew, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var ms []Member
	for i, w := range whats {
		ms = append(ms, Member{Name: fmt.Sprintf("%s %d", w, i), Args: []string{"member", w, filepath.Join(dir, fmt.Sprint(i))}})
	}
	return Muster(ctx, []string{self}, ms, nil)
}

// The first that is ready waits for the last.
func TestGate(t *testing.T) {
	dir := t.TempDir()
	c, err := muster(t, t.Context(), dir, "ends", "late", "ends")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	if started, _ := filepath.Glob(dir + "/*"); len(started) > 0 {
		t.Errorf("before the gate opened there were %q", started)
	}
	c.Go()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if started, _ := filepath.Glob(dir + "/*"); len(started) != 3 {
		t.Errorf("there are %q", started)
	}
}

func TestStop(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	c, err := muster(t, ctx, dir, "waits", "waits")
	if err != nil {
		t.Fatal(err)
	}
	c.Go()
	for {
		if started, _ := filepath.Glob(dir + "/*"); len(started) == 2 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if stopped, _ := filepath.Glob(dir + "/*.stopped"); len(stopped) != 2 {
		t.Errorf("stopped themselves: %q", stopped)
	}
}

func TestFailures(t *testing.T) {
	if _, err := muster(t, t.Context(), t.TempDir(), "ends", "dies"); err == nil || !strings.Contains(err.Error(), "dies 1: ") {
		t.Errorf("one dies before it is ready: %v", err)
	}
	dir := t.TempDir()
	c, err := muster(t, t.Context(), dir, "waits", "fails")
	if err != nil {
		t.Fatal(err)
	}
	c.Go()
	if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "fails 1: ") {
		t.Errorf("one fails: %v", err)
	}
	if _, err := Muster(t.Context(), []string{"/nonexistent"}, []Member{{Name: "m"}}, nil); err == nil {
		t.Error("a program that is not there was started")
	}
}
