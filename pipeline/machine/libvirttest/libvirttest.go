// Package libvirttest runs a libvirtd for one test.
package libvirttest

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

// privately runs libvirtd where it sees nothing of the host's own, and as root
// throughout. Otherwise the prober of QEMU, which is root, and QEMU, which is
// not, may disagree about /dev/kvm, and the daemon asks QEMU anew what it can at
// every domain, for minutes.
const privately = `set -e
for dir in /run /var/lib/libvirt /var/cache/libvirt /var/log/libvirt /etc/libvirt; do
	mkdir -p $dir
	mount -t tmpfs tmpfs $dir
done
mkdir -p /run/libvirt /run/lock
cat > /etc/libvirt/qemu.conf <<END
user = "root"
group = "root"
security_driver = "none"
stdio_handler = "file"
cgroup_controllers = []
namespaces = []
END
cat > /etc/libvirt/libvirtd.conf <<END
unix_sock_dir = "$1"
auth_unix_rw = "none"
auth_unix_ro = "none"
END
exec libvirtd --config /etc/libvirt/libvirtd.conf --pid-file "$1/pid"
`

// Daemon gives the URI of a libvirtd that is the test's own and ends with it.
// Where there is none the test is skipped, or fails under CI.
func Daemon(t testing.TB) string {
	t.Helper()
	proctest.Need(t, "libvirtd", "unshare")
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a libvirtd in a mount namespace")
	}
	dir, err := os.MkdirTemp("", "libvirt") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	p, err := proc.Start(t.Context(), proc.Cmd{
		Path: "unshare", Args: []string{"--mount", "--propagation", "private", "sh", "-c", privately, "sh", dir}, Stderr: &said,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Done()
		os.RemoveAll(dir)
		if t.Failed() {
			t.Logf("libvirtd says:\n%s", said.String())
		}
	})
	socket := filepath.Join(dir, "libvirt-sock")
	for range 300 {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return "qemu:///system?socket=" + socket
		}
		select {
		case <-p.Done():
			t.Fatalf("libvirtd ended: %v\n%s", p.Wait(), said.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatalf("libvirtd does not listen:\n%s", said.String())
	return ""
}
