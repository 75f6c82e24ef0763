package images

import (
	"archive/tar"
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// makeTree is an archive as mmdebstrap gives it, with what differs from one
// installation to the next.
func makeTree(t *testing.T, at time.Time, host, owner string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h tar.Header, text string) {
		t.Helper()
		h.ModTime, h.Uname, h.Gname, h.Size = at, owner, owner, int64(len(text))
		if h.Typeflag == tar.TypeReg {
			h.PAXRecords = map[string]string{"SCHILY.xattr.security.selinux": host}
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	dir := func(name string, mode int64, gid int) {
		add(tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, Gid: gid}, "")
	}
	file := func(name, text string) { add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755}, text) }
	dir("./", 0o700, 5)
	dir("./dev/", 0o755, 0)
	add(tar.Header{Typeflag: tar.TypeChar, Name: "./dev/null", Mode: 0o666, Devmajor: 1, Devminor: 3}, "")
	dir("./usr/", 0o755, 0)
	dir("./usr/bin/", 0o755, 0)
	file("./usr/bin/perl", "perl 5\n")
	add(tar.Header{Typeflag: tar.TypeLink, Name: "./usr/bin/perl5", Linkname: "./usr/bin/perl"}, "")
	add(tar.Header{Typeflag: tar.TypeSymlink, Name: "./usr/bin/sh", Linkname: "dash", Mode: 0o777}, "")
	dir("./usr/mail/", 0o1777, 8)
	file("./etc/hostname", host)
	file("./var/log/dpkg.log", at.String())
	file("./var/lib/dpkg/status", "Package: dash\nStatus: install ok installed\nVersion: 1\n")
	file("./var/lib/dpkg/status-old", host)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), make([]byte, 9*512)...) // tar pads to its record size
}

func TestScrub(t *testing.T) {
	var out bytes.Buffer
	in := bytes.NewReader(makeTree(t, time.Unix(5, 0), "host", "me"))
	status, err := scrub(&out, in)
	if err != nil {
		t.Fatal(err)
	}
	if in.Len() != 0 {
		t.Errorf("%d bytes were not read, so that the writer's pipe breaks", in.Len())
	}
	if status != "Package: dash\nStatus: install ok installed\nVersion: 1\n" {
		t.Errorf("status %q", status)
	}
	var got []string
	r := tar.NewReader(&out)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != epoch || h.Uname != "" || h.Gname != "" || len(h.PAXRecords) > 0 {
			t.Errorf("%+v", h)
		}
		got = append(got, h.Name)
		if h.Linkname != "" {
			got[len(got)-1] += " -> " + h.Linkname
		}
	}
	want := []string{"dev/", "usr/", "usr/bin/", "usr/bin/perl", "usr/bin/perl5 -> usr/bin/perl", "usr/bin/sh -> dash", "usr/mail/", "var/lib/dpkg/status"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestScrubErrors(t *testing.T) {
	tree := makeTree(t, time.Unix(5, 0), "host", "me")
	if _, err := scrub(io.Discard, bytes.NewReader(tree[:5000])); err == nil {
		t.Error("cut short: no error")
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeLink, Name: "./usr/bin/x", Linkname: "./usr/share/doc/x/x"}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := scrub(io.Discard, &b); err == nil || !strings.Contains(err.Error(), "usr/bin/x is a hard link to usr/share/doc/x/x") {
		t.Errorf("link to what is left out: %v", err)
	}
}

func TestDropped(t *testing.T) {
	for _, name := range []string{
		"usr/share/doc/fio/copyright", "usr/share/man/man1/dd.1.gz", "usr/share/locale/de/LC_MESSAGES/dd.mo",
		"dev/null", "var/log/apt/term.log", "var/cache/ldconfig/aux-cache", "var/lib/apt/lists/lock",
		"etc/machine-id", "etc/hostname", "etc/resolv.conf", "etc/ssh/ssh_host_ed25519_key", "etc/apt/sources.list.d/0000debian.sources",
		"var/lib/dpkg/status-old", "var/lib/dpkg/lock-frontend", "usr/lib/python3.13/__pycache__/ast.cpython-313.pyc", "etc/shadow-",
	} {
		if !dropped(name, false) {
			t.Errorf("%s stays", name)
		}
	}
	for _, name := range []string{
		"usr/bin/dd", "etc/passwd", "etc/shadow", "etc/ld.so.cache", "var/lib/dpkg/status", "var/lib/dpkg/info/dash.list",
		"usr/share/docker/x", "usr/lib/python3.13/ast.py", "etc/ssh/sshd_config", "devices", "usr/share/zoneinfo/UTC",
	} {
		if dropped(name, false) {
			t.Errorf("%s is left out", name)
		}
	}
	for name, want := range map[string]bool{
		"dev": false, "var/log/apt": false, "tmp": false, "usr/share/doc": true, "usr/share/man/de": true, "var/lib/apt/lists/partial": true, "var/cache/debconf": false, "usr/lib/x/__pycache__": true,
	} {
		if dropped(name, true) != want {
			t.Errorf("directory %s: dropped is %v", name, !want)
		}
	}
}

func FuzzScrub(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 1024))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		if _, err := scrub(&out, bytes.NewReader(data)); err != nil {
			return
		}
		r := tar.NewReader(&out)
		for {
			h, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(h.Name, "/") || strings.Contains("/"+h.Name+"/", "/../") {
				t.Errorf("name %q", h.Name)
			}
		}
	})
}
