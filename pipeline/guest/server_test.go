package guest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"spindle/pipeline/guest"

	"crypto/rand"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// server plays the guest: an SSH server on one end of a socket pair, which
// runs a few commands of its own.
type server struct {
	t    *testing.T
	conn net.Conn

	mu     sync.Mutex
	sizes  []string // terminal sizes it was told
	signal chan string

	frozen chan struct{} // closed: answers no more global requests
}

func newKeys(t *testing.T) guest.Keys {
	t.Helper()
	k, err := guest.NewKeys(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// socketpair gives two connected sockets, as machine and QEMU have them.
func socketpair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socketpair")
		if conns[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	t.Cleanup(func() { conns[0].Close(); conns[1].Close() })
	return conns[0], conns[1]
}

// start gives a logged in guest.
func start(t *testing.T, o guest.Options) (*guest.Guest, *server) {
	t.Helper()
	k := newKeys(t)
	ours, theirs := socketpair(t)
	s := &server{t: t, conn: theirs, signal: make(chan string, 1), frozen: make(chan struct{})}
	go s.serve(k)
	g, err := guest.Dial(t.Context(), ours, k, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g, s
}

// serve uses the keys as the guest's init does: from their files' forms.
func (s *server) serve(k guest.Keys) {
	hostKey, err := ssh.ParsePrivateKey(k.HostKey)
	if err != nil {
		s.t.Error(err)
		return
	}
	allowed, _, _, _, err := ssh.ParseAuthorizedKey(k.Authorized)
	if err != nil {
		s.t.Error(err)
		return
	}
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if c.User() != "root" || !bytes.Equal(key.Marshal(), allowed.Marshal()) {
				return nil, fmt.Errorf("no entry for %s", c.User())
			}
			return nil, nil
		},
	}
	config.AddHostKey(hostKey)
	_, channels, requests, err := ssh.NewServerConn(s.conn, config)
	if err != nil {
		return
	}
	go func() {
		for r := range requests {
			select {
			case <-s.frozen:
			default:
				r.Reply(false, nil)
			}
		}
	}()
	for c := range channels {
		ch, reqs, err := c.Accept()
		if err != nil {
			return
		}
		go s.session(ch, reqs)
	}
}

func (s *server) session(ch ssh.Channel, reqs <-chan *ssh.Request) {
	for r := range reqs {
		switch r.Type {
		case "exec":
			r.Reply(true, nil)
			go s.run(ch, string(r.Payload[4:]))
		case "shell":
			r.Reply(true, nil)
			go s.run(ch, "cat")
		case "pty-req":
			var p struct {
				Term                string
				Columns, Rows, X, Y uint32
				Modes               string
			}
			if err := ssh.Unmarshal(r.Payload, &p); err != nil {
				s.t.Error(err)
			}
			s.resized(fmt.Sprintf("%s %dx%d", p.Term, p.Columns, p.Rows))
			r.Reply(true, nil)
		case "window-change":
			s.resized(fmt.Sprintf("%dx%d", binary.BigEndian.Uint32(r.Payload), binary.BigEndian.Uint32(r.Payload[4:])))
		case "signal":
			s.signal <- string(r.Payload[4:])
		case "subsystem":
			if string(r.Payload[4:]) != "sftp" {
				r.Reply(false, nil)
				continue
			}
			r.Reply(true, nil)
			go func() {
				defer ch.Close()
				f, err := sftp.NewServer(ch)
				if err != nil {
					s.t.Error(err)
					return
				}
				f.Serve()
			}()
		default:
			r.Reply(false, nil)
		}
	}
}

func (s *server) resized(size string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes = append(s.sizes, size)
}

// told gives how many sizes it was told.
func (s *server) told() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sizes)
}

// run is the guest's programs.
func (s *server) run(ch ssh.Channel, line string) {
	defer ch.Close()
	words := strings.Fields(line)
	exit := func(status uint32) {
		ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
	}
	switch words[0] {
	case "echo":
		fmt.Fprintln(ch, strings.Join(words[1:], " "))
		exit(0)
	case "cat":
		io.Copy(ch, ch)
		exit(0)
	case "fail": // STATUS WORDS...
		fmt.Fprintln(ch.Stderr(), strings.Join(words[2:], " "))
		n, _ := strconv.Atoi(words[1])
		exit(uint32(n))
	case "flood": // BYTES
		n, _ := strconv.Atoi(words[1])
		ch.Write(bytes.Repeat([]byte("x"), n))
		exit(0)
	case "signalled":
		ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal  string
			Core    bool
			Message string
			Lang    string
		}{"KILL", false, "", ""}))
	case "forever":
		fmt.Fprintln(ch, "started")
		time.Sleep(time.Hour)
	case "job":
		fmt.Fprintln(ch, "ready")
		buf := make([]byte, 3)
		io.ReadFull(ch, buf)
		fmt.Fprintf(ch, "got %q\n", buf)
		fmt.Fprintln(ch, "done")
		exit(0)
	case "vanish":
		s.conn.Close()
	}
}
