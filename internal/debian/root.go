package debian

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/progress"
)

// fresh is how long lists are good for. Debian's archive changes four times a
// day, its stable suites far less often.
const fresh = 6 * time.Hour

// again is how long after an update it is not worth another to find a package.
const again = 10 * time.Minute

// Root is a private apt for one archive. It may be used by many goroutines and
// processes at once.
type Root struct {
	dir     string
	archive Archive
	log     *progress.Log
	now     func() time.Time
}

// OpenRoot makes or opens the root of an archive below dir, and renews its
// lists if they are older than six hours. Roots of different archives share
// dir.
func OpenRoot(ctx context.Context, dir string, a Archive, log *progress.Log) (*Root, error) {
	return openRoot(ctx, dir, a, log, time.Now)
}

func openRoot(ctx context.Context, dir string, a Archive, log *progress.Log, now func() time.Time) (*Root, error) {
	if err := a.Validate(); err != nil {
		return nil, fault.Planf("debian archive: %w", err)
	}
	a = a.Filled()
	if _, err := os.Stat(a.Keyring); err != nil {
		e := fault.New(fault.Machinery, "keyring", fmt.Errorf("open debian archive: %w", err))
		e.Hint = "install the package debian-archive-keyring (spindle doctor --install), or name a keyring in the plan: debian: {keyring: /path}"
		return nil, e
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open apt root: %w", err)
	}
	name := sha256.Sum256([]byte(a.Sources()))
	r := &Root{filepath.Join(dir, fmt.Sprintf("%x", name[:8])), a, log, now}
	for _, d := range []string{"etc/apt.conf.d", "etc/sources.list.d", "etc/preferences.d", "etc/trusted.gpg.d", "state/lists/partial", "cache/archives/partial", "log"} {
		if err := os.MkdirAll(filepath.Join(r.dir, d), 0o755); err != nil {
			return nil, fmt.Errorf("make apt root: %w", err)
		}
	}
	return r, r.update(ctx, fresh)
}

// config is apt's whole configuration, given by APT_CONFIG. That file is read
// before those in Dir::Etc, which by then is ours.
func (r *Root) config() string {
	return `Dir "` + r.dir + `";
Dir::Etc "` + r.dir + `/etc";
Dir::State "` + r.dir + `/state";
Dir::State::status "` + r.dir + `/state/status";
Dir::Cache "` + r.dir + `/cache";
Dir::Log "` + r.dir + `/log";
APT::Architecture "` + r.archive.Arch + `";
APT::Architectures { "` + r.archive.Arch + `"; };
// apt run by root would become the user _apt, who cannot reach a directory in
// root's home; and there need not be one off Debian.
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "3";
`
}

// write puts the configuration in place.
func (r *Root) write() error {
	for name, text := range map[string]string{
		"apt.conf":                          r.config(),
		"etc/sources.list.d/debian.sources": r.archive.Sources(),
		"state/status":                      "",
	} {
		path := filepath.Join(r.dir, name)
		if old, err := os.ReadFile(path); err == nil && string(old) == text {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("make apt root: %w", err)
		}
	}
	return nil
}

// apt runs a program of apt's in dir. Its configuration and language are set
// by env(1), so that the rest of the environment passes as it is.
func (r *Root) apt(ctx context.Context, dir, program string, args ...string) (string, error) {
	path, err := proc.LookPath(program)
	if err != nil {
		return "", err
	}
	out, err := proc.Run(ctx, proc.Cmd{
		Path: "env",
		Args: append([]string{"LC_ALL=C", "APT_CONFIG=" + filepath.Join(r.dir, "apt.conf"), path}, args...),
		Dir:  dir,
	})
	return string(out.Stdout), err
}

// updated gives the time of the last update, or the zero time.
func (r *Root) updated() (time.Time, error) {
	text, err := os.ReadFile(r.stamp())
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read apt root: %w", err)
	}
	t, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil {
		return time.Time{}, nil // cut short by a full disk; an update writes it anew
	}
	return t, nil
}

func (r *Root) stamp() string { return filepath.Join(r.dir, "updated") }

// update renews the lists if they are older than age. If that fails, older
// lists are used. A snapshot never changes.
func (r *Root) update(ctx context.Context, age time.Duration) error {
	unlock, err := r.lock(ctx, os.O_RDWR)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.write(); err != nil {
		return err
	}
	last, err := r.updated()
	if err != nil {
		return err
	}
	since := r.now().Sub(last)
	if !last.IsZero() && (since >= 0 && since < age || r.archive.Snapshot != "") {
		return nil
	}
	r.log.Printf("apt: reading the package lists of %s", strings.Join(r.archive.Suites, ", "))
	_, err = r.apt(ctx, r.dir, "apt-get", "-q", "update")
	if err == nil {
		// The binary cache is made here, under the lock, and only read later.
		_, err = r.apt(ctx, r.dir, "apt-cache", "-q", "gencaches")
	}
	switch {
	case err == nil:
		stamp := r.now().UTC().Format(time.RFC3339) + "\n"
		if err := os.WriteFile(r.stamp(), []byte(stamp), 0o644); err != nil {
			return fmt.Errorf("update package lists: %w", err)
		}
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("update package lists: %w", context.Cause(ctx))
	case !last.IsZero():
		r.log.Printf("apt: cannot renew the package lists, so those of %s are used: %v", last.Format("2006-01-02 15:04"), err)
		return nil
	}
	if missing := missingSuites(err); missing != nil {
		return &fault.Error{
			Kind: fault.Plan, Reason: "suite", Err: fmt.Errorf("update package lists: %w", missing),
			Hint: "suites are named as in " + r.archive.Mirror + "/dists; those that Debian has dropped are at archive.debian.org: debian: {mirror: http://archive.debian.org/debian}",
		}
	}
	e := fault.New(fault.Machinery, "archive", fmt.Errorf("update package lists: %w", err))
	e.Hint = "is " + r.archive.Mirror + " reachable? http_proxy in the environment names a proxy, debian: {mirror: URL} in the plan another mirror"
	return e
}

// lock locks the root: for one with os.O_RDWR, for many readers with
// os.O_RDONLY.
func (r *Root) lock(ctx context.Context, mode int) (unlock func(), err error) {
	type result struct {
		f   *lockedfile.File
		err error
	}
	got := make(chan result, 1)
	go func() { // flock(2) cannot be interrupted
		f, err := lockedfile.OpenFile(filepath.Join(r.dir, "lock"), mode|os.O_CREATE, 0o644)
		got <- result{f, err}
	}()
	select {
	case l := <-got:
		if l.err != nil {
			return nil, fmt.Errorf("lock apt root: %w", l.err)
		}
		return func() { l.f.Close() }, nil
	case <-ctx.Done():
		go func() {
			if l := <-got; l.err == nil {
				l.f.Close()
			}
		}()
		return nil, fmt.Errorf("lock apt root: another process uses it: %w", context.Cause(ctx))
	}
}
