package tree

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/store"
)

// imports gives the repository that tarballs are read into. It is one for all,
// since kernels have most of their files in common.
func (env Env) imports(ctx context.Context) (Repo, error) {
	return env.repo(ctx, "imports", "sha1", "")
}

// Imported gives the commit of a tarball that was read before under a name.
func (env Env) Imported(ctx context.Context, name string) (Base, bool) {
	r, err := env.imports(ctx)
	if err != nil {
		return Base{}, false
	}
	id := r.ref(ctx, "import/"+hash(name))
	return Base{Repo: r, Commit: id, Name: name}, id != ""
}

// Import reads a tarball into a commit, and keeps it under a name that says all
// of where it came from. The files are those of the one directory at the top.
//
// git fast-import takes them from the stream; to unpack them and git add them
// again would take four times as long, and would lose what the tree's own
// .gitignore names (in Debian's source packages that is every file).
func (env Env) Import(ctx context.Context, name, file string) (Base, error) {
	if b, ok := env.Imported(ctx, name); ok {
		return b, nil
	}
	r, err := env.imports(ctx)
	if err != nil {
		return Base{}, err
	}
	unlock, err := store.Lock(ctx, filepath.Join(r.Dir, "import.lock"))
	if err != nil {
		return Base{}, err
	}
	defer unlock()
	if b, ok := env.Imported(ctx, name); ok {
		return b, nil
	}
	env.Log.Printf("kernel: reading %s", filepath.Base(file))
	ref := "import/" + hash(name)
	// A stream that was cut short leaves no ref; what fast-import packed of it
	// is garbage that git never looks at.
	if err := r.importTar(ctx, "refs/spindle/"+ref, file); err != nil {
		return Base{}, fmt.Errorf("read %s: %w", file, err)
	}
	id := r.ref(ctx, ref)
	if id == "" {
		return Base{}, fmt.Errorf("read %s: git fast-import kept nothing", file)
	}
	return Base{Repo: r, Commit: id, Name: name}, nil
}

func (r Repo) importTar(ctx context.Context, ref, file string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	plain, wait, err := unpack(ctx, file)
	if err != nil {
		return err
	}
	in, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		w := bufio.NewWriterSize(out, 1<<20)
		err := writeStream(w, ref, tar.NewReader(plain))
		err = errors.Join(err, w.Flush())
		// A stream that ends early must not become a commit: without "done"
		// fast-import gives up.
		out.CloseWithError(err)
		written <- err
	}()
	_, err = git{dir: r.Dir, at: r.Dir, in: in, args: []string{"fast-import", "--quiet", "--done", "--depth=0", "--force"}}.run(ctx)
	in.CloseWithError(errors.New("git fast-import ended"))
	werr := <-written
	cancel()
	uerr := wait()
	switch {
	case uerr != nil && werr != nil:
		return uerr // the stream ended because the program that unpacks it did
	case werr != nil && !strings.Contains(werr.Error(), "fast-import ended"):
		return werr
	}
	return err
}

// unpack opens a tar file, packed or not, by its first bytes. The function
// waits for the end of the program that unpacks, if there is one.
func unpack(ctx context.Context, file string) (r io.Reader, wait func() error, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	buffered := bufio.NewReaderSize(f, 1<<20)
	head, err := buffered.Peek(6)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	closing := func() error { f.Close(); return nil }
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(buffered)
		return z, closing, err
	case bytes.HasPrefix(head, []byte("BZh")):
		return bzip2.NewReader(buffered), closing, nil
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return z, func() error { z.Close(); return closing() }, nil
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, nil, err
		}
		in, out, err := os.Pipe()
		if err != nil {
			return nil, nil, err
		}
		// The program is several times faster than any library in Go.
		p, err := proc.Start(ctx, proc.Cmd{Path: "xz", Args: []string{"--decompress", "--stdout"}, Stdin: f, Stdout: out})
		out.Close()
		f.Close()
		if err != nil {
			in.Close()
			return nil, nil, err
		}
		return in, func() error { in.Close(); return p.Wait() }, nil
	}
	if len(head) == 0 {
		closing()
		return nil, nil, fault.Planf("it is empty")
	}
	return buffered, closing, nil
}

// born is the time of commits that stand for files without a history:
// 2000-01-01.
const born = "946684800 +0000"

// writeStream turns a tar file into the input of git fast-import: one commit
// without a parent. Only files, links and their execute bits count, as for git.
func writeStream(w io.Writer, ref string, t *tar.Reader) error {
	fmt.Fprintf(w, "feature done\ncommit %s\ncommitter spindle <spindle@localhost> %s\ndata 7\nsource\n\n", ref, born)
	top, files := "", 0
	for {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fault.Planf("it is no tar file that can be read: %w", err)
		}
		name := path.Clean(h.Name)
		first, rest, below := strings.Cut(name, "/")
		switch {
		case h.Typeflag == tar.TypeXGlobalHeader || h.Typeflag == tar.TypeDir || name == ".":
			continue
		case !below:
			return fault.Planf("it has %q beside a directory: a kernel's tarball has one directory at the top", name)
		case top != "" && first != top:
			return fault.Planf("it has the directories %s and %s at the top: a kernel's tarball has one", top, first)
		case first == ".." || first == "":
			return fault.Planf("it has the path %q", h.Name)
		}
		top = first
		files++
		switch h.Typeflag {
		case tar.TypeReg:
			mode := "100644"
			if h.Mode&0o111 != 0 {
				mode = "100755"
			}
			fmt.Fprintf(w, "M %s inline %s\ndata %d\n", mode, quotePath(rest), h.Size)
			if _, err := io.Copy(w, t); err != nil {
				return fault.Planf("%s: %w", h.Name, err)
			}
			fmt.Fprintln(w)
		case tar.TypeSymlink:
			fmt.Fprintf(w, "M 120000 inline %s\ndata %d\n%s\n", quotePath(rest), len(h.Linkname), h.Linkname)
		case tar.TypeLink:
			_, from, _ := strings.Cut(path.Clean(h.Linkname), "/")
			fmt.Fprintf(w, "C %s %s\n", quotePath(from), quotePath(rest))
		default:
			return fault.Planf("%s is neither file nor link", h.Name)
		}
	}
	if files == 0 {
		return fault.Planf("it has no files")
	}
	_, err := fmt.Fprint(w, "done\n")
	return err
}

// quotePath writes a path as fast-import reads it.
func quotePath(p string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(p) {
		if c := p[i]; c == '"' || c == '\\' || c < ' ' || c > '~' {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}
