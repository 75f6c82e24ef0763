package images

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/store"
)

// guestName is the file name of the program that guests run.
const guestName = "spindle-guest"

// GuestBinary gives the path and the SHA-256 of spindle-guest, a static
// program for Linux on x86-64: the one that lies beside the running program, or
// else one built from spindle's source by the Go toolchain, once for each
// state of the source.
func GuestBinary(ctx context.Context, env Env) (path, hash string, err error) {
	path, err = guestBinary(ctx, env)
	if err == nil {
		err = static(path)
	}
	if err == nil {
		hash, _, err = hashFile(path)
	}
	if err != nil {
		return "", "", fmt.Errorf("find %s: %w", guestName, err)
	}
	return path, hash, nil
}

func guestBinary(ctx context.Context, env Env) (string, error) {
	executable := env.Executable
	if executable == "" {
		var err error
		if executable, err = os.Executable(); err != nil {
			return "", err
		}
	}
	beside := filepath.Join(filepath.Dir(executable), guestName)
	why := fmt.Errorf("there is none beside %s", executable)
	if _, err := os.Stat(beside); err == nil {
		if why = static(beside); why == nil {
			return beside, nil
		}
		env.Log.Printf("%v; building another", why)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	source := env.Source
	if source == "" {
		source = compiledFrom()
	}
	// Both ways are said where neither can be gone.
	if _, err := os.Stat(filepath.Join(source, "go.mod")); source == "" || err != nil {
		return "", noGuest(fmt.Errorf("%w, and no source to build it from", why))
	}
	if _, err := proc.LookPath("go"); err != nil {
		return "", noGuest(fmt.Errorf("%w, and no go tool to build it with", why))
	}
	return buildGuest(ctx, env, source, "./cmd/"+guestName)
}

// noGuest is the error where a program for guests neither is nor can be made.
func noGuest(err error) error {
	e := fault.New(fault.Machinery, "guest-binary", err)
	e.Hint = "build both in spindle's source and keep them side by side: go build -o DIR/ ./cmd/spindle && CGO_ENABLED=0 go build -o DIR/ ./cmd/spindle-guest"
	return e
}

// compiledFrom gives the directory of the module that this program was
// compiled from, if the compiler left its name (no -trimpath).
func compiledFrom() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	return filepath.Dir(filepath.Dir(file)) // this is images/guest.go
}

// goRun runs the Go toolchain for a guest: no C library, since the root file
// system's may be older, and no word of the directory it was built in.
func goRun(ctx context.Context, source string, args ...string) (string, error) {
	tool, err := proc.LookPath("go")
	if err != nil {
		return "", err
	}
	out, err := proc.Run(ctx, proc.Cmd{
		Path: "env",
		Args: append([]string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=-trimpath", tool}, args...),
		Dir:  source,
	})
	return string(out.Stdout), err
}

// buildGuest builds a package into the store. What names the entry is the
// toolchain's own hash of the package and all that it imports, which it finds
// by compiling what has changed; linking is what the store saves.
func buildGuest(ctx context.Context, env Env, source, pkg string) (string, error) {
	id, err := goRun(ctx, source, "list", "-export", "-f", "{{.BuildID}}", pkg)
	if err != nil {
		return "", fmt.Errorf("compile: %w", err)
	}
	version, err := goRun(ctx, source, "version")
	if err != nil {
		return "", err
	}
	key, err := store.NewKey("guest").
		Field("recipe", recipe).
		Field("go", strings.TrimSpace(version)).
		Field("package", pkg).
		Field("build id", strings.TrimSpace(id)).
		Sum()
	if err != nil {
		return "", err
	}
	dir, err := env.Store.Make(ctx, key, func(ctx context.Context, dir string) error {
		env.Log.Printf("%s: building", guestName)
		_, err := goRun(ctx, source, "build", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(dir, guestName), pkg)
		return err
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, guestName), nil
}

// static checks that a program runs where there is nothing but the kernel.
func static(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		return fmt.Errorf("%s is for %s, guests have %s", path, f.Machine, elf.EM_X86_64)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s needs a dynamic linker, which an initramfs does not have: build it with CGO_ENABLED=0", path)
		}
	}
	return nil
}
