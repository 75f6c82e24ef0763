package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

func newKey(t *testing.T) (ssh.Signer, []byte) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

// dial serves a connection and logs in to it.
func dial(t *testing.T) *ssh.Client {
	t.Helper()
	host, hostPEM := newKey(t)
	user, _ := newKey(t)
	cfg, err := serverConfig(hostPEM, ssh.MarshalAuthorizedKey(user.PublicKey()))
	if err != nil {
		t.Fatal(err)
	}
	client, err := login(t, cfg, host.PublicKey(), user)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func login(t *testing.T, cfg *ssh.ServerConfig, host ssh.PublicKey, user ssh.Signer) (*ssh.Client, error) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	end := func(fd int) net.Conn {
		f := os.NewFile(uintptr(fd), "pair")
		defer f.Close()
		c, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ours, theirs := end(fds[0]), end(fds[1])
	served := make(chan error, 1)
	go func() { served <- serve(theirs, cfg) }()
	t.Cleanup(func() {
		ours.Close()
		<-served
	})
	conn, chans, reqs, err := ssh.NewClientConn(ours, "guest", &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(user)}, HostKeyCallback: ssh.FixedHostKey(host),
	})
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(conn, chans, reqs), nil
}

func session1(t *testing.T, c *ssh.Client) *ssh.Session {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestExec(t *testing.T) {
	c := dial(t)
	for _, tt := range []struct {
		name, command, stdin   string
		stdout, stderr, ending string
	}{
		{"output", "echo out; echo err >&2", "", "out\n", "err\n", ""},
		{"status", "exit 7", "", "", "", "status 7"},
		{"input", "cat", "some\x00bytes", "some\x00bytes", "", ""},
		{"signal", "kill -TERM $$", "", "", "", "signal TERM"},
		{"environment", "echo $SPINDLE_TEST $HOME", "", "yes it is /root\n", "", ""},
		{"not found", "/no/such/program 2>/dev/null", "", "", "", "status 127"},
		{"background", "sleep 4242 & echo done", "", "done\n", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := session1(t, c)
			if err := s.Setenv("SPINDLE_TEST", "yes it is"); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			s.Stdin, s.Stdout, s.Stderr = strings.NewReader(tt.stdin), &stdout, &stderr
			err := s.Run(tt.command)
			ending := ""
			var exit *ssh.ExitError
			switch {
			case err == nil:
			case !errors.As(err, &exit):
				t.Fatal(err)
			case exit.Signal() != "":
				ending = "signal " + exit.Signal()
			default:
				ending = "status " + strconv.Itoa(exit.ExitStatus())
			}
			if stdout.String() != tt.stdout || stderr.String() != tt.stderr || ending != tt.ending {
				t.Errorf("stdout %q, stderr %q, ending %q; want %q, %q, %q", stdout.String(), stderr.String(), ending, tt.stdout, tt.stderr, tt.ending)
			}
		})
	}
}

// A signal reaches the program, and the end of a session everything in it.
func TestSessionEnds(t *testing.T) {
	c := dial(t)
	s := session1(t, c)
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start("trap 'echo caught; exit 3' TERM; echo up; while :; do sleep 0.01; done"); err != nil {
		t.Fatal(err)
	}
	expect(t, out, "up\n")
	if err := s.Signal(ssh.SIGTERM); err != nil {
		t.Fatal(err)
	}
	expect(t, out, "caught\n")
	var exit *ssh.ExitError
	if err := s.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 3 {
		t.Errorf("ended with %v, want status 3", err)
	}

	s = session1(t, c)
	if out, err = s.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start("sleep 4243 & echo $! $$; wait"); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	for _, word := range strings.Fields(string(line[:n])) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		gone(t, pid)
	}
}

// gone waits until a process has ended (a zombie has).
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 500 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d lives on", pid)
}

func expect(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

func TestSFTP(t *testing.T) {
	c, err := sftp.NewClient(dial(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dir := t.TempDir()
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	f, err := c.Create(filepath.Join(dir, "a.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(want); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.PosixRename(filepath.Join(dir, "a.tmp"), filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "a"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	r, err := c.Open(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if back, err := io.ReadAll(r); err != nil || !bytes.Equal(back, want) {
		t.Errorf("read back %d bytes, %v", len(back), err)
	}
}

func TestShell(t *testing.T) {
	if _, err := os.Stat("/dev/ptmx"); err != nil {
		t.Skip("this host has no pseudo terminals")
	}
	s := session1(t, dial(t))
	if err := s.RequestPty("vt220", 40, 100, ssh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	until := func(want string) {
		t.Helper()
		buf := make([]byte, 4096)
		for !strings.Contains(said.String(), want) {
			n, err := out.Read(buf)
			said.Write(buf[:n])
			if err != nil {
				t.Fatalf("%v after %q, want %q", err, said.String(), want)
			}
		}
	}
	// The words are put together by the shell, so that their echo is not taken
	// for them.
	io.WriteString(in, "echo \"size-$(stty size)-$TERM\"\n")
	until("size-40 100-vt220")
	if err := s.WindowChange(50, 120); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, "echo \"now-$(stty size)\"; tty >/dev/null && echo on-a-\"terminal\"\n")
	until("now-50 120")
	until("on-a-terminal")
	io.WriteString(in, "exit 5\n")
	go io.Copy(io.Discard, out)
	var exit *ssh.ExitError
	if err := s.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 5 {
		t.Errorf("ended with %v, want status 5", err)
	}
}

func TestRequests(t *testing.T) {
	c := dial(t)
	if ok, _, err := c.SendRequest("keepalive@openssh.com", true, nil); !ok || err != nil {
		t.Errorf("keepalive: %t, %v", ok, err)
	}
	if ok, _, err := c.SendRequest("tcpip-forward", true, nil); ok || err != nil {
		t.Errorf("forwarding: %t, %v", ok, err)
	}
	if conn, err := c.Dial("tcp", "127.0.0.1:1"); err == nil {
		conn.Close()
		t.Error("a forwarded connection was opened")
	}
	s := session1(t, c)
	for _, tt := range []struct {
		kind    string
		payload []byte
	}{
		{"window-change", ssh.Marshal(windowSize{80, 25, 0, 0})}, // without a terminal
		{"env", ssh.Marshal(struct{ Name, Value string }{"A=B", "x"})},
		{"env", []byte{0, 0, 0, 200}},
		{"signal", ssh.Marshal(struct{ Name string }{"NONSENSE"})},
		{"x11-req", nil},
	} {
		if ok, err := s.SendRequest(tt.kind, true, tt.payload); ok || err != nil {
			t.Errorf("%s %q: %t, %v", tt.kind, tt.payload, ok, err)
		}
	}
	if err := session1(t, c).RequestSubsystem("netconf"); err == nil {
		t.Error("an unknown subsystem was started")
	}
}

func TestLogin(t *testing.T) {
	host, hostPEM := newKey(t)
	user, _ := newKey(t)
	other, _ := newKey(t)
	both := append(ssh.MarshalAuthorizedKey(other.PublicKey()), ssh.MarshalAuthorizedKey(user.PublicKey())...)
	cfg, err := serverConfig(hostPEM, both)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := login(t, cfg, host.PublicKey(), user); err != nil {
		t.Errorf("second key: %v", err)
	}
	stranger, _ := newKey(t)
	if _, err := login(t, cfg, host.PublicKey(), stranger); err == nil {
		t.Error("a stranger logged in")
	}
	for _, bad := range [][2][]byte{{nil, both}, {hostPEM, nil}, {hostPEM, []byte("ssh-ed25519 nonsense")}, {[]byte("no key"), both}} {
		if _, err := serverConfig(bad[0], bad[1]); err == nil {
			t.Errorf("serverConfig(%q, %q) is no error", bad[0], bad[1])
		}
	}
}
