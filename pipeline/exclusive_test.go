package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"spindle/internal/proc"
	"spindle/internal/progress"
)

func TestExclusive(t *testing.T) {
	cache := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		env := Env{Cache: cache, Log: progress.New(&out, false, time.Now)}
		release, err := exclusive(t.Context(), env, false)
		if err != nil {
			t.Fatal(err)
		}
		if out.Len() > 0 {
			t.Errorf("the first says %q", out.String())
		}
		second := make(chan func(), 1)
		go func() {
			release, err := exclusive(t.Context(), env, false)
			if err != nil {
				t.Error(err)
			}
			second <- release
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(second) > 0 {
			t.Fatal("two hold the host at once")
		}
		release()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(second) == 0 {
			t.Fatal("the second still waits when the first is gone")
		}
		(<-second)()
		if want := "another spindle measures on this host; waiting for it to end\n"; out.String() != want {
			t.Errorf("said %q, want %q", out.String(), want)
		}
	})
}

func TestExclusiveEndsWithContext(t *testing.T) {
	env := Env{Cache: t.TempDir()}
	release, err := exclusive(t.Context(), env, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupt")
	cancel(why)
	if _, err := exclusive(ctx, env, false); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
	release()
	// The one that gave up holds nothing.
	release, err = exclusive(t.Context(), env, false)
	if err != nil {
		t.Fatal(err)
	}
	release()

	// Other cache directories are other hosts to it.
	release, err = exclusive(t.Context(), Env{Cache: t.TempDir()}, false)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if _, err := exclusive(t.Context(), Env{Cache: filepath.Join(env.Cache, "none")}, false); err == nil {
		t.Error("locked in a directory that is not there")
	}
}

// holdEnv names the cache directory in which the test program, started once
// more, holds the host.
const holdEnv = "SPINDLE_TEST_HOLD"

func TestHolder(t *testing.T) {
	cache := os.Getenv(holdEnv)
	if cache == "" {
		t.Skip("holds the host for TestExclusiveAcrossProcesses")
	}
	release, err := exclusive(t.Context(), Env{Cache: cache}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer release() // until we are killed
	if err := os.WriteFile(filepath.Join(cache, "held"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	select {}
}

// A process that is killed with SIGKILL holds the host no longer.
func TestExclusiveAcrossProcesses(t *testing.T) {
	cache := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(t.Context(), proc.Cmd{Path: self, Args: []string{"-test.run=^TestHolder$"}, Setenv: []string{holdEnv + "=" + cache}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(cache, "held")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	waiting, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("tried"))
	if _, err := exclusive(waiting, Env{Cache: cache}, false); err == nil {
		t.Error("two processes hold the host at once")
	}
	p.Kill()
	p.Wait()
	release, err := exclusive(waiting, Env{Cache: cache}, false)
	if err != nil {
		t.Fatalf("the holder is dead: %v", err)
	}
	release()
}

// Runs in virtual time share the host with each other, and not with a run in
// real time, whichever came first.
func TestVirtualShares(t *testing.T) {
	env := Env{Cache: t.TempDir(), Log: progress.New(&strings.Builder{}, false, time.Now)}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	can := func(virtual bool) bool {
		release, err := exclusive(gone, env, virtual)
		if err == nil {
			release()
		}
		return err == nil
	}
	for _, tt := range []struct{ first, second, want bool }{
		{first: true, second: true, want: true},
		{first: true, second: false, want: false},
		{first: false, second: true, want: false},
		{first: false, second: false, want: false},
	} {
		release, err := exclusive(t.Context(), env, tt.first)
		if err != nil {
			t.Fatal(err)
		}
		if got := can(tt.second); got != tt.want {
			t.Errorf("virtual %v holds the host, and virtual %v gets it: %v, want %v", tt.first, tt.second, got, tt.want)
		}
		release()
	}
}
