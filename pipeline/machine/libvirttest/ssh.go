package libvirttest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

// OverSSH gives the URI by which the same daemon is reached over SSH, from an
// SSH server of the test's own that plays the other host's.
func OverSSH(t testing.TB, daemon string) string {
	t.Helper()
	proctest.Need(t, "sshd", "ssh", "ssh-keygen")
	u, err := url.Parse(daemon)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"host", "user"} {
		if _, err := proc.Run(t.Context(), proc.Cmd{Path: "ssh-keygen", Args: []string{"-q", "-t", "ed25519", "-N", "", "-f", file(name)}}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	key, err := os.ReadFile(file("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"known": fmt.Sprintf("[127.0.0.1]:%d %s", port, key),
		"config": strings.Join([]string{
			fmt.Sprint("Port ", port), "ListenAddress 127.0.0.1", "HostKey " + file("host"), "AuthorizedKeysFile " + file("user.pub"),
			"StrictModes no", "UsePAM no", "PermitRootLogin prohibit-password", "PidFile none",
		}, "\n") + "\n",
	} {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // as its init script does
		t.Skip(err)
	}
	path, err := proc.LookPath("sshd") // which wants to be called by its path
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	p, err := proc.Start(t.Context(), proc.Cmd{Path: path, Args: []string{"-D", "-e", "-f", file("config")}, Stderr: &said})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Done()
		if t.Failed() {
			t.Logf("sshd says:\n%s", said.String())
		}
	})
	for range 100 {
		if conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			conn.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	q := url.Values{"socket": {u.Query().Get("socket")}, "keyfile": {file("user")}, "known_hosts": {file("known")}}
	return fmt.Sprintf("qemu+ssh://root@127.0.0.1:%d/system?%s", port, q.Encode())
}
