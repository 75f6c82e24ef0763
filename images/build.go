package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"spindle/internal/debian"
	"spindle/internal/fault"
	"spindle/internal/proc"
)

const rootName = "root.squashfs"

// epoch is the time of all files in an image, and what SOURCE_DATE_EPOCH tells
// the packages' scripts: 2025-01-01. It has no meaning but to be the same. It
// is not 0, since passwd would take that for a password that has expired.
const epoch = 1735689600

// build is how an image is made.
type build struct {
	spec    Spec
	base    []string
	variant string // of mmdebstrap
	mode    string // of mmdebstrap: root or unshare
}

// mode gives the mode of mmdebstrap for a user: in a user namespace unless the
// user is root.
func mode(euid int) string {
	if euid == 0 {
		return "root"
	}
	return "unshare"
}

// fill makes root.squashfs and image.json in dir: mmdebstrap writes a tar
// archive, what differs from time to time is taken out, mksquashfs packs it.
func (b build) fill(ctx context.Context, env Env, archive debian.Archive, dir string) (err error) {
	if keyring := archive.Filled().Keyring; !exists(keyring) {
		e := fault.New(fault.Machinery, "keyring", fmt.Errorf("keyring %s is not there", keyring))
		e.Hint = "install the package debian-archive-keyring (spindle doctor --install), or name a keyring in the plan: debian: {keyring: /path}"
		return e
	}
	tool, err := squashVersion(ctx)
	if err != nil {
		return err
	}
	temp, remove, err := b.temp(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	sources := filepath.Join(temp, "debian.sources")
	if err := os.WriteFile(sources, []byte(archive.Sources(debian.With(b.spec.suite())...)), 0o644); err != nil {
		return err
	}
	start := time.Now()
	env.Log.Printf("image: installing %s, about a minute", b.spec)

	root := filepath.Join(dir, rootName)
	packages, err := b.pipe(ctx, sources, temp, root)
	if err != nil {
		return err
	}
	sum, size, err := hashFile(root)
	if err != nil {
		return err
	}
	env.Log.Printf("image: %d packages, %d MB, made in %d s", len(packages), size/1_000_000, int(time.Since(start).Seconds()))
	return Image{
		Hash: sum, Packages: packages, Suite: b.spec.suite(),
		Built: start.UTC().Truncate(time.Second), Mode: b.mode, Tool: tool,
	}.write(dir)
}

// temp gives a directory for mmdebstrap's unpacked tree: beside the entry for
// root. The subordinate users of another user cannot get into a home with mode
// 0700, so that one's is in /var/tmp.
func (b build) temp(ctx context.Context, dir string) (temp string, remove func() error, err error) {
	if b.mode == "root" {
		temp := filepath.Join(dir, "tmp")
		return temp, func() error { return os.RemoveAll(temp) }, os.Mkdir(temp, 0o755)
	}
	temp, remove, err = proc.TempDir(ctx, "/var/tmp", "spindle-image")
	if err != nil {
		return "", nil, err
	}
	// mmdebstrap itself makes what it writes to, for its own users.
	if err := os.Chmod(temp, 0o755); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return temp, remove, nil
}

// pipe runs the three side by side and gives the packages that were installed.
func (b build) pipe(ctx context.Context, sources, temp, root string) (map[string]string, error) {
	tree, treeEnd := io.Pipe()
	clean, cleanEnd := io.Pipe()
	var packages map[string]string
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		err := b.bootstrap(ctx, sources, temp, treeEnd)
		treeEnd.CloseWithError(orEOF(err))
		return err
	})
	g.Go(func() error {
		status, err := scrub(cleanEnd, tree)
		if err != nil {
			err = fmt.Errorf("clean image: %w", err)
		}
		tree.CloseWithError(orEOF(err))
		cleanEnd.CloseWithError(orEOF(err))
		if packages = debian.Installed(status); err == nil && len(packages) == 0 {
			err = errors.New("clean image: no package is installed")
		}
		return err
	})
	g.Go(func() error {
		err := squash(ctx, clean, root, b.mode)
		clean.CloseWithError(orEOF(err))
		return err
	})
	return packages, g.Wait()
}

func orEOF(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}

// bootstrap installs the packages below temp and writes the tree as a tar
// archive.
func (b build) bootstrap(ctx context.Context, sources, temp string, w io.Writer) error {
	path, err := proc.LookPath("mmdebstrap")
	if err != nil {
		return err
	}
	_, err = proc.Run(ctx, proc.Cmd{
		Path: "env",
		Args: []string{
			"LC_ALL=C", "TMPDIR=" + temp, "SOURCE_DATE_EPOCH=" + strconv.Itoa(epoch),
			path, "--mode=" + b.mode, "--variant=" + b.variant, "--format=tar",
			"--include=" + strings.Join(b.spec.all(b.base), ","),
			`--aptopt=Acquire::Languages "none"`,
			`--aptopt=Acquire::Retries "3"`,
			b.spec.suite(), "-", sources,
		},
		Dir:    temp,
		Stdout: w,
		// It removes its tree when told to end.
		Grace: 30 * time.Second,
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	e := fault.New(fault.Machinery, "image", fmt.Errorf("install packages: %w", err))
	e.Hint = "the lines above say what apt or mmdebstrap could not do; a package that is not there must leave the plan's image, a proxy is named by http_proxy, a mirror by debian: {mirror: URL}"
	if b.mode == "unshare" && strings.Contains(err.Error(), "sub") {
		e.Hint = "an ordinary user needs subordinate ids and the package uidmap: sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER"
	}
	return e
}

// squash packs a tar archive with lz4, which an emulated guest unpacks fastest:
// under TCG, programs and libraries of 31 MB were read in 0.8 s, from zstd at
// level 3 in 1.1 to 1.5 s, from gzip in 1.5 to 2.2 s. Packing the default image
// takes a second, and it has 106 MB instead of 78 or 75.
func squash(ctx context.Context, r io.Reader, path, mode string) error {
	tool, err := proc.LookPath("mksquashfs")
	if err != nil {
		return err
	}
	args := []string{
		// It refuses to have times from both this and its options.
		"--unset=SOURCE_DATE_EPOCH", "LC_ALL=C",
		tool, "-", path, "-tar", "-noappend", "-no-progress", "-quiet",
		"-comp", "lz4", "-no-xattrs",
		"-mkfs-time", strconv.Itoa(epoch), "-all-time", strconv.Itoa(epoch),
		"-root-mode", "755", "-root-uid", "0", "-root-gid", "0",
	}
	program := "env"
	if mode == "unshare" {
		// Given a tar archive, squashfs-tools 4.5.1 forgets -root-uid and makes
		// the root directory the user's, who therefore becomes root.
		program, args = "unshare", append([]string{"--map-root-user", "env"}, args...)
	}
	if _, err = proc.Run(ctx, proc.Cmd{Path: program, Args: args, Stdin: r}); err != nil {
		return fmt.Errorf("pack image: %w", err)
	}
	return nil
}

// squashVersion gives the first line of what mksquashfs says of itself.
func squashVersion(ctx context.Context) (string, error) {
	out, err := proc.Run(ctx, proc.Cmd{Path: "mksquashfs", Args: []string{"-version"}})
	line, _, _ := strings.Cut(string(out.Stdout), "\n")
	if !strings.HasPrefix(line, "mksquashfs version") { // 4.5 exits with 1 although all is well
		return "", fmt.Errorf("ask mksquashfs for its version: it says %q (%v)", line, err)
	}
	return line, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func hashFile(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}
