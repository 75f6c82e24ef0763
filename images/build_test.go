package images

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/debian"
	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/internal/progress"
)

// TestBuild makes a small image twice, with all real programs, and as another
// user where this test may become one.
func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("installs Debian twice")
	}
	proctest.Need(t, "mmdebstrap", "apt-get", "mksquashfs", "unsquashfs")
	first, err := small(t.Context(), filepath.Join(t.TempDir(), "store"), mode(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(first.Dir, "*")); len(left) != 2 {
		t.Errorf("the entry holds %v", left)
	}
	if first.Packages["dash"] == "" || first.Packages["hostname"] == "" {
		t.Errorf("packages %v", first.Packages)
	}
	listing, err := proc.Run(t.Context(), proc.Cmd{Path: "unsquashfs", Args: []string{"-lln", first.Root}})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(listing.Stdout)) {
		f := strings.Fields(line) // mode owner size date time name
		if len(f) < 6 || !strings.HasPrefix(f[5], "squashfs-root") {
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(f[5], "squashfs-root"), "/")
		if name != "" && dropped(name, f[0][0] == 'd') || f[3] != "2025-01-01" {
			t.Errorf("left in: %s", line)
		}
		if name == "" && (f[0] != "drwxr-xr-x" || f[1] != "0/0") {
			t.Errorf("root: %s", line)
		}
	}

	again := func() (Image, error) { return small(t.Context(), filepath.Join(t.TempDir(), "store"), first.Mode) }
	if user := newUser(t); user != nil {
		again = user.small
	}
	for range 2 {
		second, err := again()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(first.Packages, second.Packages); d != "" {
			// Debian published updates in between.
			first = second
			continue
		}
		if second.Hash != first.Hash {
			t.Errorf("in mode %s %s, in mode %s %s", first.Mode, first.Hash, second.Mode, second.Hash)
		}
		return
	}
	t.Skip("the archive changes too fast to build the same twice")
}

// user is one who is not root, and known with subordinate ids in a mount
// namespace only: nothing of the host is changed.
type user struct {
	t    *testing.T
	home string
	pre  []string // starts a program as that user
}

const testID = 42424

// newUser gives a user, or nil with a line in the log where this process may
// not become one.
func newUser(t *testing.T) *user {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	for _, program := range []string{"unshare", "setpriv", "newuidmap"} {
		if _, err := proc.LookPath(program); err != nil {
			t.Logf("both builds are root's: %v", err)
			return nil
		}
	}
	// Not in t.TempDir, which others cannot get into.
	dir, err := os.MkdirTemp("/var/tmp", "spindle-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	u := &user{t: t, home: filepath.Join(dir, "home")}
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(u.home, 0o700), os.Chown(u.home, testID, testID)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	script := "set -e\n"
	for _, f := range []struct{ path, line string }{
		{"/etc/passwd", fmt.Sprintf("spintest:x:%d:%d::%s:/bin/sh\n", testID, testID, u.home)},
		{"/etc/group", fmt.Sprintf("spintest:x:%d:\n", testID)},
		{"/etc/subuid", "spintest:4242400000:65536\n"},
		{"/etc/subgid", "spintest:4242400000:65536\n"},
	} {
		old, err := os.ReadFile(f.path)
		if err != nil {
			t.Logf("both builds are root's: %v", err)
			return nil
		}
		ours := put(t, append(old, f.line...), dir, filepath.Base(f.path))
		script += fmt.Sprintf("mount --bind %s %s\n", ours, f.path)
	}
	script += fmt.Sprintf(`exec setpriv --reuid=%d --regid=%d --clear-groups env HOME=%s USER=spintest LOGNAME=spintest "$@"`, testID, testID, u.home)
	u.pre = []string{"--mount", "sh", "-c", script, "sh"}
	if _, err := proc.Run(t.Context(), proc.Cmd{Path: "unshare", Args: append(u.pre, "unshare", "--user", "true")}); err != nil {
		t.Logf("both builds are root's: cannot become another user: %v", err)
		return nil
	}
	return u
}

// small has a copy of this program build the small image as the user.
func (u *user) small() (Image, error) {
	self, err := os.Executable()
	if err != nil {
		return Image{}, err
	}
	text, err := os.ReadFile(self)
	if err != nil {
		return Image{}, err
	}
	program := put(u.t, text, filepath.Dir(u.home), "images.test")
	if err := os.Chmod(program, 0o755); err != nil {
		return Image{}, err
	}
	out, err := proc.Run(u.t.Context(), proc.Cmd{
		Path: "unshare",
		Args: append(u.pre, asUser+"="+filepath.Join(u.home, "store"), program),
	})
	var image Image
	if err == nil {
		err = json.Unmarshal(out.Stdout, &image)
	}
	if err == nil && image.Mode != "unshare" {
		err = fmt.Errorf("mode %q", image.Mode)
	}
	return image, err
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	proctest.Need(t, "mmdebstrap", "apt-get", "mksquashfs")
	s := openStore(t)
	b := build{base: bare, variant: "custom", mode: mode(os.Geteuid())}
	keyring := put(t, nil, t.TempDir(), "keyring.gpg")
	_, err := b.make(t.Context(), Env{Store: s, Archive: debian.Archive{Mirror: "file:///var/empty", Security: "file:///var/empty", Keyring: keyring}})
	if err == nil || fault.Of(err) != fault.Machinery || fault.Hint(err) == "" {
		t.Fatalf("error %v, hint %q", err, fault.Hint(err))
	}
	left, err := filepath.Glob(filepath.Join(s.Dir(), "image", "*"))
	if err != nil || len(left) != 1 || filepath.Ext(left[0]) != ".lock" {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := b.make(t.Context(), Env{Store: s, Archive: debian.Archive{Keyring: "/none.gpg"}}); fault.Hint(err) == "" || !strings.Contains(err.Error(), "/none.gpg") {
		t.Errorf("without a keyring: %v", err)
	}
}

// TestSquash packs two archives of the same files that were made at other
// times by other users in another order.
func TestSquash(t *testing.T) {
	proctest.Need(t, "mksquashfs", "unsquashfs")
	pack := func(name string, tree []byte) string {
		t.Helper()
		var clean bytes.Buffer
		if _, err := scrub(&clean, bytes.NewReader(tree)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := squash(t.Context(), &clean, path, mode(os.Geteuid())); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1") // the host's must not count
	one := pack("one", makeTree(t, time.Unix(1, 0), "one", "root"))
	two := pack("two", makeTree(t, time.Unix(2, 0), "two", "0"))
	a, err := os.ReadFile(one)
	b, err2 := os.ReadFile(two)
	if err != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Errorf("%d and %d bytes that differ, %v, %v", len(a), len(b), err, err2)
	}
	out, err := proc.Run(t.Context(), proc.Cmd{Path: "unsquashfs", Args: []string{"-lln", one}})
	if err != nil {
		t.Fatal(err)
	}
	want := `drwxr-xr-x 0/0 42 squashfs-root
drwxr-xr-x 0/0 3 squashfs-root/dev
drwxr-xr-x 0/0 28 squashfs-root/usr
drwxr-xr-x 0/0 36 squashfs-root/usr/bin
-rwxr-xr-x 0/0 7 squashfs-root/usr/bin/perl
-rwxr-xr-x 0/0 7 squashfs-root/usr/bin/perl5
lrwxrwxrwx 0/0 4 squashfs-root/usr/bin/sh -> dash
drwxrwxrwt 0/8 3 squashfs-root/usr/mail
`
	var got strings.Builder
	for line := range strings.Lines(string(out.Stdout)) {
		f := strings.Fields(line)
		if len(f) < 6 || strings.Contains(line, "var/") || strings.HasSuffix(f[5], "/var") {
			continue
		}
		fmt.Fprintln(&got, strings.Join(append(f[:3:3], f[5:]...), " "))
	}
	// Sizes of directories are squashfs's own.
	if d := cmp.Diff(withoutSizes(want), withoutSizes(got.String())); d != "" {
		t.Error(d)
	}
}

func withoutSizes(listing string) string {
	var out strings.Builder
	for line := range strings.Lines(listing) {
		f := strings.Fields(line)
		if strings.HasPrefix(f[0], "d") {
			f[2] = "-"
		}
		fmt.Fprintln(&out, strings.Join(f, " "))
	}
	return out.String()
}

func TestSquashFails(t *testing.T) {
	proctest.Need(t, "mksquashfs")
	err := squash(t.Context(), io.LimitReader(neverEnding('x'), 4096), filepath.Join(t.TempDir(), "x"), mode(os.Geteuid()))
	if err == nil {
		t.Error("packed what is no archive")
	}
}

type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

func TestMention(t *testing.T) {
	built := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	i := Image{Dir: "/store/x", Suite: "trixie", Packages: map[string]string{"a": "1"}, Built: built}
	for _, tt := range []struct {
		age    time.Duration
		pinned bool
		want   string
	}{
		{time.Hour, false, "image: trixie as of 2026-01-01, 1 packages\n"},
		{400 * 24 * time.Hour, false, "image: trixie as of 2026-01-01, 1 packages; that is 400 days ago, remove /store/x to have it made anew\n"},
		{400 * 24 * time.Hour, true, "image: trixie as of 2026-01-01, 1 packages\n"},
	} {
		var said bytes.Buffer
		i.mention(progress.New(&said, false, time.Now), built.Add(tt.age), tt.pinned)
		if said.String() != tt.want {
			t.Errorf("%q, want %q", said.String(), tt.want)
		}
	}
}
