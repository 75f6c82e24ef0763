package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/ssh"

	"spindle/workloads"
)

// handshakeLimit bounds what a host may take to log in.
const handshakeLimit = 30 * time.Second

// sshd serves SSH on a virtio port, one connection after the other: the port has
// no notion of more. It ends when the port fails.
func sshd(ctx context.Context, port string) error {
	hostKey, err := os.ReadFile(filepath.Join(workloads.GuestDir, workloads.HostKeyFile))
	if err != nil {
		return err
	}
	authorized, err := os.ReadFile(filepath.Join(workloads.GuestDir, workloads.AuthorizedFile))
	if err != nil {
		return err
	}
	cfg, err := serverConfig(hostKey, authorized)
	if err != nil {
		return err
	}
	// Whatever a workload eats, the host must be able to ask what it did.
	os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0)
	node, err := findPort(ctx, "/sys", "/dev", port)
	if err != nil {
		return err
	}
	return eachConnection(ctx, node, func(conn portConn) error { return serve(conn, cfg) })
}

// eachConnection hands the port to serve whenever the host has its side open.
func eachConnection(ctx context.Context, node string, serve func(portConn) error) error {
	served := false
	for {
		conn, err := openPort(node)
		if err != nil {
			return err
		}
		if !served {
			served = true
			ready := os.NewFile(3, "ready")
			ready.Write([]byte{1})
			ready.Close()
		}
		if err := conn.await(ctx); err != nil {
			conn.Close()
			return err
		}
		if err := serve(conn); err != nil {
			fmt.Fprintf(os.Stderr, "spindle-guest: ssh: %v\n", err)
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// serverConfig lets in who has one of the authorized keys, and nobody else.
func serverConfig(hostKey, authorized []byte) (*ssh.ServerConfig, error) {
	signer, err := ssh.ParsePrivateKey(hostKey)
	if err != nil {
		return nil, fmt.Errorf("read host key: %w", err)
	}
	var keys [][]byte
	for rest := authorized; len(bytes.TrimSpace(rest)) > 0; {
		var key ssh.PublicKey
		key, _, _, rest, err = ssh.ParseAuthorizedKey(rest)
		if err != nil {
			return nil, fmt.Errorf("read authorized keys: %w", err)
		}
		keys = append(keys, key.Marshal())
	}
	if len(keys) == 0 {
		return nil, errors.New("read authorized keys: there are none")
	}
	cfg := &ssh.ServerConfig{
		ServerVersion: "SSH-2.0-spindle",
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			for _, k := range keys {
				if bytes.Equal(k, key.Marshal()) {
					return nil, nil
				}
			}
			return nil, errors.New("unknown key")
		},
	}
	cfg.AddHostKey(signer)
	return cfg, nil
}

// serve serves one connection to its end and closes it. A host that hangs up is
// no error.
func serve(conn net.Conn, cfg *ssh.ServerConfig) error {
	defer conn.Close()
	// A port that cannot have deadlines is served all the same.
	conn.SetDeadline(time.Now().Add(handshakeLimit))
	sc, channels, requests, err := ssh.NewServerConn(conn, cfg)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	conn.SetDeadline(time.Time{})
	defer sc.Close()
	go answer(requests)
	for c := range channels {
		if c.ChannelType() != "session" {
			c.Reject(ssh.UnknownChannelType, "there are sessions only")
			continue
		}
		ch, reqs, err := c.Accept()
		if err != nil {
			continue // the connection is ending
		}
		go newSession(ch).serve(reqs)
	}
	return nil
}

// answer replies to requests that are about no channel. A keepalive wants any
// answer at all.
func answer(requests <-chan *ssh.Request) {
	for r := range requests {
		if r.WantReply {
			r.Reply(r.Type == "keepalive@openssh.com", nil)
		}
	}
}
