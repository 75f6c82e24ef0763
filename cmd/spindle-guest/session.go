package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// outputDelay is how long a session waits for output after its program ended:
// something in the background may hold the pipe open for ever.
const outputDelay = 500 * time.Millisecond

// session is one SSH session channel (RFC 4254, section 6).
type session struct {
	ch    ssh.Channel
	env   []string
	pty   *pty // nil: pipes
	begun bool // a program or subsystem was started

	// follow waits for what was started, and tells the host how it ended. It
	// is called once the host knows that it started: a program may be over
	// before the answer to the request is out.
	follow func()

	mu    sync.Mutex
	group int // process group of the program while it runs
}

func newSession(ch ssh.Channel) *session {
	return &session{ch: ch, env: environment()}
}

// serve answers the channel's requests until it closes, and ends what it
// started then.
func (s *session) serve(requests <-chan *ssh.Request) {
	for r := range requests {
		err := s.handle(r)
		if r.WantReply {
			r.Reply(err == nil, nil)
		}
		if s.follow != nil {
			go s.follow()
			s.follow = nil
		}
		if err != nil && (r.Type == "exec" || r.Type == "shell" || r.Type == "subsystem") {
			// The reason is worth more than "request failed".
			fmt.Fprintf(s.ch.Stderr(), "spindle-guest: %v\n", err)
			s.ch.Close()
		}
	}
	s.signal(unix.SIGKILL)
	if s.pty != nil {
		s.pty.Close()
	}
}

// handle does what one request asks for.
func (s *session) handle(r *ssh.Request) error {
	switch r.Type {
	case "env":
		var m struct{ Name, Value string }
		if err := ssh.Unmarshal(r.Payload, &m); err != nil {
			return err
		}
		if strings.ContainsAny(m.Name, "=\x00") || m.Name == "" || strings.Contains(m.Value, "\x00") {
			return errors.New("env: malformed")
		}
		s.env = append(s.env, m.Name+"="+m.Value)
		return nil
	case "pty-req":
		return s.openPty(r.Payload)
	case "window-change":
		var m windowSize
		if err := ssh.Unmarshal(r.Payload, &m); err != nil {
			return err
		}
		if s.pty == nil {
			return errors.New("window-change: no terminal")
		}
		return s.pty.resize(m)
	case "exec":
		var m struct{ Command string }
		if err := ssh.Unmarshal(r.Payload, &m); err != nil {
			return err
		}
		return s.start("/bin/sh", "-c", m.Command)
	case "shell":
		if _, err := os.Stat("/bin/bash"); err == nil {
			return s.start("/bin/bash", "-l")
		}
		return s.start("/bin/sh", "-l")
	case "subsystem":
		var m struct{ Name string }
		if err := ssh.Unmarshal(r.Payload, &m); err != nil {
			return err
		}
		if m.Name != "sftp" {
			return fmt.Errorf("subsystem %q: there is sftp", m.Name)
		}
		return s.sftp()
	case "signal":
		var m struct{ Name string }
		if err := ssh.Unmarshal(r.Payload, &m); err != nil {
			return err
		}
		sig := unix.SignalNum("SIG" + m.Name)
		if sig == 0 {
			return fmt.Errorf("signal %q: unknown", m.Name)
		}
		s.signal(sig)
		return nil
	}
	return fmt.Errorf("request %q: unknown", r.Type)
}

func (s *session) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.group != 0 {
		unix.Kill(-s.group, sig)
	}
}

// start runs a program. Here as in process 1 nothing but the guest's end has to
// be outlived, so os/exec is used as it is; a terminal's program needs a session
// of its own.
func (s *session) start(name string, args ...string) error {
	if s.begun {
		return errors.New("a program was started in this session already")
	}
	s.begun = true
	cmd := exec.Command(name, args...)
	cmd.Env = s.env
	cmd.Dir = "/root"
	if unix.Access(cmd.Dir, unix.X_OK) != nil {
		cmd.Dir = "/"
	}
	if s.pty != nil {
		return s.startOnPty(cmd)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr = s.ch, s.ch.Stderr()
	cmd.WaitDelay = outputDelay
	// Not cmd.Stdin: Wait would wait for a host that sends nothing.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.started(cmd)
	go func() {
		io.Copy(stdin, s.ch)
		stdin.Close()
	}()
	s.follow = func() {
		cmd.Wait()
		s.ended(cmd)
	}
	return nil
}

// started notes the program, and takes back from it that memory pressure
// spares this server.
func (s *session) started(cmd *exec.Cmd) {
	s.mu.Lock()
	s.group = cmd.Process.Pid
	s.mu.Unlock()
	os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", cmd.Process.Pid), []byte("0"), 0)
}

// ended tells the host how the program ended. What it left in its process group
// goes when the channel closes, which is now.
func (s *session) ended(cmd *exec.Cmd) {
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		s.ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Name    string
			Core    bool
			Message string
			Lang    string
		}{strings.TrimPrefix(unix.SignalName(status.Signal()), "SIG"), status.CoreDump(), "", ""}))
	} else {
		s.ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status.ExitStatus())}))
	}
	s.ch.Close()
}

// sftp serves files.
func (s *session) sftp() error {
	if s.begun {
		return errors.New("a program was started in this session already")
	}
	s.begun = true
	server, err := sftp.NewServer(s.ch)
	if err != nil {
		return err
	}
	s.follow = func() {
		err := server.Serve()
		server.Close()
		code := uint32(0)
		if err != nil && !errors.Is(err, io.EOF) {
			code = 1
		}
		s.ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{code}))
		s.ch.Close()
	}
	return nil
}
