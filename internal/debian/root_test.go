package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/internal/proc/proctest"
	"spindle/internal/progress"
)

// mirror serves testdata/archive and can be told to lie.
type mirror struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int    // requests by path
	other map[string][]byte // what is given instead; nil is 404
}

func serve(t *testing.T) *mirror {
	t.Helper()
	proctest.Need(t, "apt-get", "apt-cache", "gpgv")
	m := &mirror{asked: map[string]int{}, other: map[string][]byte{}}
	files := http.FileServer(http.Dir("testdata/archive"))
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		m.asked[r.URL.Path]++
		data, lie := m.other[r.URL.Path]
		m.mu.Unlock()
		switch {
		case lie && data == nil:
			http.NotFound(w, r)
		case lie:
			w.Write(data)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *mirror) count(path string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[path]
}

func (m *mirror) lie(path string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.other[path] = data
}

func (m *mirror) archive(t *testing.T, suites ...string) Archive {
	t.Helper()
	keyring, err := filepath.Abs("testdata/archive/keyring.gpg")
	if err != nil {
		t.Fatal(err)
	}
	if len(suites) == 0 {
		suites = []string{"old", "old-security", "new"}
	}
	return Archive{Mirror: m.URL + "/main", Security: m.URL + "/security", Suites: suites, Keyring: keyring}
}

func open(t *testing.T, a Archive) *Root {
	t.Helper()
	r, err := OpenRoot(t.Context(), t.TempDir(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResolve(t *testing.T) {
	r := open(t, serve(t).archive(t))
	for _, tt := range []struct {
		name, version string
		want          string // NAME=VERSION in SUITE, or a part of the error
	}{
		{"hello", "", "hello=1.1~rc1-1 in new"},
		{"hello", "1.0-1", "hello=1.0-1 in old"},
		{"linux-image-6.1.0-9-amd64", "", "linux-image-6.1.0-9-amd64=6.1.90-1 in old"},
		{"linux-image-amd64", "", "linux-image-6.12.10+deb13-amd64=6.12.10-1 in new"},
		{"linux-image-amd64", "6.1.100-1", "linux-image-6.1.0-10-amd64=6.1.100-1 in old"},
		// A package of the name is what is meant, although another is newer.
		{"linux-image-6.12-amd64", "", "linux-image-6.12.9+deb12-amd64=6.12.9-1~deb12u1 in old-security"},
		// No such packages: the newest of the series, by version and not by letters.
		{"linux-image-6.1-amd64", "", "linux-image-6.1.0-11-amd64=6.1.110-1 in old-security"},
		{"linux-image-6.1-amd64", "6.1.90-1", "linux-image-6.1.0-9-amd64=6.1.90-1 in old"},
		{"linux-image-6.1-cloud-amd64", "", "linux-image-6.1.0-10-cloud-amd64=6.1.100-1 in old"},
		{"linux-image-6.1-rt-amd64", "", "linux-image-6.1.0-10-rt-amd64=6.1.100-1 in old"},
		{"linux-image-6.12-cloud-amd64", "", "linux-image-6.12.10+deb13-cloud-amd64=6.12.10-1 in new"},

		{"linux-image-6.13-cloud-amd64", "", "package linux-image-6.13-cloud-amd64: not in the archive (suites old, old-security, new); of that flavour there are linux-image-6.1-cloud-amd64 (6.1.100-1), linux-image-6.12-cloud-amd64 (6.12.10-1)"},
		{"linux-image-6.12-rt-amd64", "", "of that flavour there are linux-image-6.1-rt-amd64 (6.1.100-1)"},
		{"linux-image-amd46", "", "near it are linux-image-amd64"},
		{"helo", "", "near it are hello"},
		{"nothing-like-it", "", "package nothing-like-it: not in the archive (suites old, old-security, new)"},
		{"hello", "2", "package hello=2: not in the archive, which has 1.1~rc1-1, 1.0-1"},
		{"linux-image-6.1-rt-amd64", "7", "which has linux-image-6.1.0-10-rt-amd64=6.1.100-1, linux-image-6.1.0-9-rt-amd64=6.1.90-1"},
		{"linux-image-.*", "", "want a name"},
		{"--option", "", "want a name"},
	} {
		p, err := r.Resolve(t.Context(), tt.name, tt.version)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s %s: error %v, want %q", tt.name, tt.version, err, tt.want)
			}
			if fault.Of(err) != fault.Plan {
				t.Errorf("%s %s: the fault is %s's", tt.name, tt.version, fault.Of(err))
			}
			continue
		}
		if got := fmt.Sprintf("%s in %s", p, p.Suite); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.name, tt.version, got, tt.want)
		}
	}
}

func TestFetch(t *testing.T) {
	m := serve(t)
	r := open(t, m.archive(t))
	p, err := r.Resolve(t.Context(), "hello", "1.0-1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, err := r.Fetch(t.Context(), p, dir)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "hello 1.0-1\n" {
		t.Errorf("%s: %q, %v", path, text, err)
	}
	if d := cmp.Diff([]string{"hello_1.0-1_amd64.deb"}, list(t, dir)); d != "" {
		t.Error(d)
	}

	m.lie("/main/pool/hello_1.0-1_amd64.deb", []byte("hello 1.0-2\n"))
	for _, what := range []string{"changed on the mirror", "not what the list said when it was resolved"} {
		dir := t.TempDir()
		if path, err := r.Fetch(t.Context(), p, dir); err == nil {
			t.Errorf("%s: no error, but %s", what, path)
		} else if fault.Hint(err) == "" {
			t.Errorf("%s: no hint: %v", what, err)
		}
		if d := cmp.Diff([]string(nil), list(t, dir)); d != "" {
			t.Errorf("%s: left behind: %s", what, d)
		}
		m.lie("/main/pool/hello_1.0-1_amd64.deb", []byte("hello 1.0-1\n"))
		p.SHA256 = strings.Repeat("0", 64)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestSignatures(t *testing.T) {
	m := serve(t)
	good, err := os.ReadFile("testdata/archive/main/dists/new/InRelease")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, suite string
		path        string
		data        []byte
	}{
		{name: "signed by a stranger", suite: "foreign"},
		{name: "not signed", suite: "unsigned"},
		{"release changed", "new", "/main/dists/new/InRelease", bytes.Replace(good, []byte("Origin: test"), []byte("Origin: tost"), 1)},
		{"list changed", "new", "/main/dists/new/main/binary-amd64/Packages", []byte("Package: hello\n")},
		{"release of another suite", "old", "/main/dists/old/InRelease", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.path != "" {
				m.lie(tt.path, tt.data)
			}
			dir := t.TempDir()
			r, err := OpenRoot(t.Context(), dir, m.archive(t, tt.suite), nil)
			if err == nil {
				p, err := r.Resolve(t.Context(), "hello", "")
				t.Fatalf("no error; hello is %s, %v", p, err)
			}
			if fault.Hint(err) == "" || fault.Of(err) != fault.Machinery {
				t.Errorf("fault of %s, hint %q: %v", fault.Of(err), fault.Hint(err), err)
			}
		})
	}
}

// A mirror that answers and has no such suite is the plan's fault, and names
// every suite; one that does not answer, or cannot, is not.
func TestMissingSuites(t *testing.T) {
	m := serve(t)
	a := m.archive(t, "nope", "new", "gone-security")
	_, err := OpenRoot(t.Context(), t.TempDir(), a, nil)
	var missing MissingSuites
	if !errors.As(err, &missing) || fault.Of(err) != fault.Plan || fault.Hint(err) == "" {
		t.Fatalf("fault of %s, hint %q: %v", fault.Of(err), fault.Hint(err), err)
	}
	want := MissingSuites{{"nope", a.Mirror}, {"gone-security", a.Security}}
	if d := cmp.Diff(want, missing); d != "" {
		t.Error(d)
	}

	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of order", http.StatusForbidden)
	}))
	t.Cleanup(broken.Close)
	for _, mirror := range []string{broken.URL, "http://127.0.0.1:1"} {
		a := m.archive(t, "new")
		a.Mirror = mirror
		if _, err := OpenRoot(t.Context(), t.TempDir(), a, nil); err == nil || fault.Of(err) != fault.Machinery {
			t.Errorf("%s: fault of %s: %v", mirror, fault.Of(err), err)
		}
	}
}

func TestUpdates(t *testing.T) {
	m := serve(t)
	const release = "/main/dists/new/InRelease"
	dir, a := t.TempDir(), m.archive(t, "new")
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var said bytes.Buffer
	log := progress.New(&said, false, time.Now)
	at := func(after time.Duration) (*Root, error) {
		return openRoot(t.Context(), dir, a, log, func() time.Time { return now.Add(after) })
	}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{
		{0, 1}, {time.Minute, 1}, {5 * time.Hour, 1}, {7 * time.Hour, 2}, {8 * time.Hour, 2},
		{-time.Hour, 3}, // a clock that was set back: the age of the lists is not known
	} {
		if _, err := at(step.after); err != nil {
			t.Fatal(err)
		}
		if got := m.count(release); got != step.want {
			t.Errorf("after %s: read %d times, want %d", step.after, got, step.want)
		}
	}

	// A package that is not there may be new, unless the lists are.
	r, err := at(-time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, 3}, {30 * time.Minute, 4}, {35 * time.Minute, 4}} {
		r.now = func() time.Time { return now.Add(step.after - time.Hour) }
		if _, err := r.Resolve(t.Context(), "missing", ""); err == nil {
			t.Fatal("found what is not there")
		}
		if got := m.count(release); got != step.want {
			t.Errorf("missing after %s: read %d times, want %d", step.after, got, step.want)
		}
	}

	m.lie(release, nil)
	m.lie("/main/dists/new/Release", nil)
	said.Reset()
	if r, err = at(24 * time.Hour); err != nil {
		t.Fatal("without the mirror:", err)
	}
	if !strings.Contains(said.String(), "cannot renew the package lists, so those of 2026-01-01 11:30 are used") {
		t.Errorf("it said %q", said.String())
	}
	if p, err := r.Resolve(t.Context(), "hello", ""); err != nil || p.Version != "1.1~rc1-1" {
		t.Errorf("from old lists: %v, %v", p, err)
	}
	if _, err := openRoot(t.Context(), t.TempDir(), a, log, time.Now); err == nil {
		t.Error("no error without lists and mirror")
	} else if fault.Hint(err) == "" {
		t.Errorf("no hint: %v", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	m := serve(t)
	dir, a := t.TempDir(), m.archive(t, "new")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			r, err := OpenRoot(t.Context(), dir, a, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := r.Resolve(t.Context(), "linux-image-amd64", ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := m.count("/main/dists/new/InRelease"); got != 1 {
		t.Errorf("the lists were read %d times", got)
	}
}

func TestLockEndsWithContext(t *testing.T) {
	r := open(t, serve(t).archive(t, "new"))
	unlock, err := r.lock(t.Context(), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Resolve(ctx, "hello", ""); err == nil {
		t.Error("not locked")
	}
	unlock()
	if _, err := r.Resolve(t.Context(), "hello", ""); err != nil {
		t.Error(err)
	}
}

// TestHostIsNotAsked has apt dump its configuration: nothing in it may come
// from, or point into, the host's.
func TestHostIsNotAsked(t *testing.T) {
	proctest.Need(t, "apt-config")
	r := open(t, serve(t).archive(t, "new"))
	dump, err := r.apt(t.Context(), r.dir, "apt-config", "dump", "--format", "%F=%v%n")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(dump) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		programs := strings.HasPrefix(name, "Dir::Bin::") || name == "DPkg::Path" || strings.HasPrefix(name, "CommandLine")
		mounts := name == "Dir::Media::MountPath" || name == "Acquire::cdrom::mount"
		if strings.HasPrefix(value, "/") && !strings.HasPrefix(value, r.dir) && !programs && !mounts {
			t.Errorf("%s is the host's %s", name, value)
		}
		if strings.HasPrefix(name, "Acquire::AllowInsecure") && value != "0" && value != "false" {
			t.Errorf("%s=%s", name, value)
		}
	}
	for _, hook := range []string{"DPkg::Post-Invoke", "APT::Update::Post-Invoke", "Acquire::http::Proxy"} {
		if strings.Contains(dump, hook) {
			t.Errorf("%s is set", hook)
		}
	}
}
