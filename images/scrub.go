package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// statusFile is dpkg's list of what is installed.
const statusFile = "var/lib/dpkg/status"

// scrub copies a tar archive without what would make two installations of the
// same packages differ, and without what a guest has no use for. It gives
// dpkg's status file. Names lose the "./" before them; owners are numbers;
// extended attributes go, as SELinux hosts add them.
func scrub(w io.Writer, r io.Reader) (status string, err error) {
	in, out := tar.NewReader(r), tar.NewWriter(w)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			// The writer must not find its pipe closed before its last block.
			_, err := io.Copy(io.Discard, r)
			return status, errors.Join(err, out.Close())
		}
		if err != nil {
			return "", err
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if name == "" || dropped(name, h.Typeflag == tar.TypeDir) {
			continue
		}
		clean := &tar.Header{
			Typeflag: h.Typeflag, Name: name, Linkname: h.Linkname, Size: h.Size,
			Mode: h.Mode, Uid: h.Uid, Gid: h.Gid, ModTime: time.Unix(epoch, 0),
			Devmajor: h.Devmajor, Devminor: h.Devminor,
		}
		switch h.Typeflag {
		case tar.TypeDir:
			clean.Name += "/"
		case tar.TypeLink:
			clean.Linkname = strings.TrimPrefix(path.Clean("/"+h.Linkname), "/")
			if dropped(clean.Linkname, false) {
				return "", fmt.Errorf("%s is a hard link to %s, which is left out", name, clean.Linkname)
			}
		}
		if err := out.WriteHeader(clean); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		to := io.Writer(out)
		var kept bytes.Buffer
		if name == statusFile {
			to = io.MultiWriter(out, &kept)
		}
		if _, err := io.Copy(to, in); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if name == statusFile {
			status = kept.String()
		}
	}
}

// contents are directories whose files are left out; the directories stay.
var contents = []string{
	"boot",
	"dev", // devtmpfs is mounted on it
	"etc/apt",
	"proc",
	"run",
	"sys",
	"tmp",
	"var/cache", // of ldconfig and debconf
	"var/log",
	"var/tmp",
}

// trees are directories that are left out with all in them.
var trees = []string{
	"usr/share/bug",
	"usr/share/doc",
	"usr/share/doc-base",
	"usr/share/groff",
	"usr/share/info",
	"usr/share/lintian",
	"usr/share/locale",
	"usr/share/man",
	// apt gives directories in here to root or to _apt, by whether it could
	// reach them as the latter.
	"var/cache/apt",
	"var/lib/apt",
}

// files are left out one by one: what mmdebstrap copies from the host, what is
// made from a random number, and backups of what is there.
var files = []string{
	"etc/.pwd.lock",
	"etc/group-",
	"etc/gshadow-",
	"etc/hostname",
	"etc/machine-id",
	"etc/passwd-",
	"etc/resolv.conf",
	"etc/shadow-",
	"etc/subgid-",
	"etc/subuid-",
	"var/lib/dbus/machine-id",
	"var/lib/systemd/random-seed",
}

// dropped says what is left out of an image.
func dropped(name string, dir bool) bool {
	for _, t := range trees {
		if name == t || strings.HasPrefix(name, t+"/") {
			return true
		}
	}
	if path.Base(name) == "__pycache__" || path.Base(path.Dir(name)) == "__pycache__" {
		return true // Python's compiler does not give the same bytes each time
	}
	if dir {
		return false
	}
	for _, c := range contents {
		if strings.HasPrefix(name, c+"/") {
			return true
		}
	}
	for _, f := range files {
		if name == f {
			return true
		}
	}
	base, parent := path.Base(name), path.Dir(name)
	return parent == "etc/ssh" && strings.HasPrefix(base, "ssh_host_") ||
		parent == "var/lib/dpkg" && (strings.HasSuffix(base, "-old") || strings.HasPrefix(base, "lock"))
}
