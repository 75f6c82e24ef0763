package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"spindle/workloads"
	"spindle/workloads/blockdev"
)

// A guest in virtual time cannot be spoken to: its clock jumps, and a network
// of the host's would be in another time. Its job lies in the initramfs, and
// what it has to say goes to a drive, the mailbox. A word is a write to the
// first block; the host has understood it when the write is done. Files go
// behind that, as a tar archive.

const (
	mailboxBlock = 4096
	mailboxLimit = 30 * time.Second
	mailChunk    = 1 << 20
)

// mailbox is the open drive. Writes go past the page cache: they are words of
// now.
type mailbox struct {
	f   *os.File
	buf []byte // of mailChunk, aligned
}

func openMailbox(ctx context.Context, serial string) (*mailbox, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, mailboxLimit, errors.New("not there in time"))
	defer cancel()
	d, err := blockdev.Find(ctx, "/sys", "/dev", serial)
	if err != nil {
		return nil, fmt.Errorf("mailbox: %w", err)
	}
	f, err := os.OpenFile(d.Node, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		return nil, fmt.Errorf("mailbox: %w", err)
	}
	buf, err := unix.Mmap(-1, 0, mailChunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("mailbox: %w", err)
	}
	return &mailbox{f, buf}, nil
}

// say writes a word, and returns when the host has understood it.
func (m *mailbox) say(word string) error {
	b := m.buf[:mailboxBlock]
	clear(b)
	copy(b, word)
	if _, err := m.f.WriteAt(b, 0); err != nil {
		return fmt.Errorf("say %q to the host: %w", word, err)
	}
	return nil
}

func (m *mailbox) handshake() workloads.Handshake {
	return workloads.Handshake{
		Ready: func() error { return m.say("ready") },
		Done:  func() error { return m.say("done") },
	}
}

// post writes the files of a directory.
func (m *mailbox) post(dir string) error {
	var b bytes.Buffer
	if err := archive(&b, dir); err != nil {
		return err
	}
	length := b.Len()
	for at := int64(mailboxBlock); b.Len() > 0; at += mailChunk {
		n, _ := b.Read(m.buf)
		clear(m.buf[n:])
		whole := (n + mailboxBlock - 1) / mailboxBlock * mailboxBlock
		if _, err := m.f.WriteAt(m.buf[:whole], at); err != nil {
			return fmt.Errorf("post results: %w", err)
		}
	}
	return m.say(fmt.Sprint("result ", length))
}

// archive writes the plain files below a directory as tar, in the order of their
// names.
func archive(w io.Writer, dir string) error {
	t := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = t.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	return t.Close()
}

// byMail carries out the job in a file and posts what came of it.
func byMail(ctx context.Context, serial, file string) error {
	m, err := openMailbox(ctx, serial)
	if err != nil {
		return err
	}
	dir, err := carryOut(ctx, file, m.handshake())
	if err != nil {
		return err
	}
	return m.post(dir)
}

// mailMan carries out the guest's job in a process of its own, and ends the
// guest when that ends.
func mailMan(serial string) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		fatal(err)
	}
	p, err := os.StartProcess(agent(), []string{workloads.AgentFile, "mail", serial, filepath.Join(workloads.GuestDir, workloads.JobFile)}, &os.ProcAttr{
		Dir:   "/",
		Env:   environment(),
		Files: []*os.File{null, console(), console()},
	})
	if err != nil {
		fatal(fmt.Errorf("start job: %w", err))
	}
	pid := p.Pid
	p.Release() // the loop waits for all processes alike
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			fatal(fmt.Errorf("wait for job: %w", err))
		case got == pid && (status.Signaled() || status.ExitStatus() != 0):
			fatal(fmt.Errorf("job ended: %s", ending(status)))
		case got == pid:
			powerOff()
		}
	}
}
