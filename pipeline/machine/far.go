package machine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// far is a libvirt daemon on another host, reached by that host's SSH server
// with OpenSSH's client: keys, agents, jump hosts and known hosts are as a
// person has them. The client carries the daemon's socket to here and all our
// sockets to there, so that everything else is as on this host.
type far struct {
	args   []string // of ssh, the host last
	dir    string   // there
	tunnel *proc.Process
}

// tunnelLimit bounds the making of connections to the other host.
const tunnelLimit = 30 * time.Second

// reachFar opens the way. here is our directory for sockets; names are those
// that QEMU will connect to.
func reachFar(ctx context.Context, args []string, socket, here string, names []string) (f *far, err error) {
	f = &far{args: append([]string{"-o", "BatchMode=yes"}, args...)}
	out, err := f.run(ctx, nil, "umask 077; mktemp -d /tmp/spindle-XXXXXXXXXX")
	if err != nil {
		return nil, err
	}
	if f.dir = strings.TrimSpace(out); !strings.HasPrefix(f.dir, "/tmp/spindle-") {
		return nil, fmt.Errorf("reach libvirt: its host says %q instead of a directory's name", clip(out))
	}
	defer func() {
		if err != nil {
			f.close(ctx)
		}
	}()
	local := filepath.Join(here, "libvirt")
	tunnel := []string{"-N", "-o", "ExitOnForwardFailure=yes", "-o", "StreamLocalBindUnlink=yes", "-L", local + ":" + socket}
	for _, name := range names {
		tunnel = append(tunnel, "-R", filepath.Join(f.dir, name)+":"+filepath.Join(here, name))
	}
	if f.tunnel, err = proc.Start(ctx, proc.Cmd{Path: "ssh", Args: append(tunnel, f.args...), Grace: time.Second}); err != nil {
		return nil, err
	}
	// The socket to the daemon is the first of the forwards to be made, and
	// those that the server makes are answered before the session begins; a
	// QEMU that starts seconds later finds them.
	for deadline := time.Now().Add(tunnelLimit); ; {
		conn, err := net.Dial("unix", local)
		if err == nil {
			conn.Close()
			return f, nil
		}
		select {
		case <-f.tunnel.Done():
			return nil, fmt.Errorf("reach libvirt: %w", errors.Join(f.tunnel.Wait(), errors.New("ssh ended")))
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("reach libvirt: %w", err)
		}
	}
}

// run runs a line of the other host's shell.
func (f *far) run(ctx context.Context, in *os.File, line string) (string, error) {
	cmd := proc.Cmd{Path: "ssh", Args: append(append([]string{}, f.args...), line)}
	if in != nil {
		cmd.Stdin = in
	}
	out, err := proc.Run(ctx, cmd)
	if err != nil {
		return "", &fault.Error{
			Kind: fault.Machinery, Reason: "libvirt", Err: fmt.Errorf("reach libvirt's host: %w", err),
			Hint: "see that this works without a password: ssh " + strings.Join(f.args, " ") + " true",
		}
	}
	return string(out.Stdout), nil
}

// farCache keeps files that many machines use, there, in the home of whom we log
// in as.
const farCache = ".cache/spindle/files"

// put brings a file there and gives its path. One that is kept is brought once;
// it is known by our path, its size and its time, since our store never changes
// a file.
func (f *far) put(ctx context.Context, path string, keep bool) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return "", err
	}
	name := filepath.Base(path)
	if !keep {
		there := filepath.Join(f.dir, name)
		_, err := f.run(ctx, in, "cat > "+quoted(there))
		return there, err
	}
	id := sha256.Sum256([]byte(fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())))
	out, err := f.run(ctx, in, fmt.Sprintf(`umask 077; mkdir -p %[1]s && cd %[1]s && pwd && { [ -e %[2]x ] || { cat > %[2]x.$$ && mv %[2]x.$$ %[2]x; }; }`, farCache, id[:16]))
	if err != nil {
		return "", err
	}
	return filepath.Join(strings.TrimSpace(out), fmt.Sprintf("%x", id[:16])), nil
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// close takes down what was made there. A host that cannot be reached any more
// keeps an empty directory with sockets.
func (f *far) close(ctx context.Context) {
	if f.tunnel != nil {
		f.tunnel.Kill()
		<-f.tunnel.Done()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	f.run(ctx, nil, "rm -rf "+quoted(f.dir))
}
