package images

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"spindle/internal/store"
)

// asUser is the environment variable by which TestBuild has this very program
// build an image as another user: the directory of the store to use.
const asUser = "SPINDLE_TEST_BUILD_IMAGE"

func TestMain(m *testing.M) {
	dir := os.Getenv(asUser)
	if dir == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	image, err := small(ctx, dir, mode(os.Geteuid()))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(image)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// bare are the packages that dpkg needs to configure packages.
var bare = []string{"base-files", "base-passwd", "coreutils", "dash", "diffutils", "dpkg", "grep", "libc-bin", "sed"}

// small builds an image that takes as little time as one can.
func small(ctx context.Context, dir, mode string) (Image, error) {
	s, err := store.Open(dir)
	if err != nil {
		return Image{}, err
	}
	b := build{spec: Spec{Packages: []string{"hostname"}}, base: bare, variant: "custom", mode: mode}
	return b.make(ctx, Env{Store: s})
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, data []byte, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
