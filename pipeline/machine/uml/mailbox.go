package uml

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"spindle/internal/unit"
	"spindle/internal/vhost"
	"spindle/pipeline/drive/sparse"
)

// mailbox is the drive over which the guest speaks: a word is written to its
// first block, files lie behind that as a tar archive. Its end of the
// conversation is in cmd/spindle-guest.
type mailbox struct {
	plain
	word func(word string) answer
	err  error // the first failure of ours
}

// answer is what a word of the guest leads to: after is waited for, then do is
// called, then the guest hears that it was understood.
type answer struct {
	after time.Duration
	do    func() error
}

const (
	mailboxSize  = 4 * unit.GiB
	mailboxBlock = 4096
)

func newMailbox(now clock, word func(string) answer) (*mailbox, error) {
	content, err := sparse.Open("", int64(mailboxSize))
	if err != nil {
		return nil, err
	}
	return &mailbox{plain: plain{now: now, content: content}, word: word}, nil
}

// Submit takes a request; one for the first block is a word.
func (m *mailbox) Submit(r *vhost.Request, done func(error)) {
	if r.Op == vhost.Write && r.Offset == 0 && len(r.Data) > 0 {
		text := bytes.TrimRight(r.Data[0][:min(len(r.Data[0]), mailboxBlock)], "\x00")
		a := m.word(strings.TrimSpace(string(text)))
		m.add(m.now()+untimed+a.after, func() {
			if err := a.do(); err != nil && m.err == nil {
				m.err = err
			}
			done(nil)
		})
		return
	}
	m.plain.Submit(r, done)
}

// unpack writes the guest's files into dir. words is what is behind "result":
// the length of the archive in bytes.
func (m *mailbox) unpack(length, dir string) error {
	n, err := strconv.ParseInt(length, 10, 64)
	if err != nil || n < 0 || n > int64(mailboxSize)-mailboxBlock {
		return fmt.Errorf("guest's result: length %q", length)
	}
	r := tar.NewReader(&contentReader{m.content, mailboxBlock, mailboxBlock + n})
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("guest's result: %w", err)
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			return fmt.Errorf("guest's result: %q is no plain file of its directory", h.Name)
		}
		if err := store(filepath.Join(dir, h.Name), r); err != nil {
			return fmt.Errorf("guest's result: %w", err)
		}
	}
}

func store(path string, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

type contentReader struct {
	f       *sparse.File
	at, end int64
}

func (c *contentReader) Read(p []byte) (int, error) {
	n := min(int64(len(p)), c.end-c.at)
	if n <= 0 {
		return 0, io.EOF
	}
	if err := c.f.ReadAt(p[:n], c.at); err != nil {
		return 0, err
	}
	c.at += n
	return int(n), nil
}
