package machine

import (
	"context"
	"fmt"
	"net"
	"net/url"

	"spindle/internal/fault"
)

// daemon is a libvirtd, and the means to be reached from where it runs.
type daemon struct {
	socket string
}

// daemonSockets are where daemons listen: the one for all hypervisors, and the
// one for QEMU alone that newer hosts have.
var daemonSockets = []string{"/run/libvirt/libvirt-sock", "/run/libvirt/virtqemud-sock"}

// parseLibvirt reads a libvirt URI (https://libvirt.org/uri.html), as far as
// machines can be had by it. Errors are the plan's.
func parseLibvirt(uri string) (daemon, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return daemon{}, fault.Planf("libvirt: %w", err)
	case u.Scheme != "qemu" && u.Scheme != "qemu+unix", u.Host != "", u.Path != "/system":
		return daemon{}, fault.Planf("libvirt %q: want qemu:///system", uri)
	}
	for key := range u.Query() {
		if key != "socket" {
			return daemon{}, fault.Planf("libvirt %q: of parameters there is socket", uri)
		}
	}
	return daemon{socket: u.Query().Get("socket")}, nil
}

// ValidLibvirt says what is wrong with a libvirt URI of a plan.
func ValidLibvirt(uri string) error {
	_, err := parseLibvirt(uri)
	return err
}

// dial connects to the daemon.
func (d daemon) dial(ctx context.Context) (net.Conn, error) {
	sockets := daemonSockets
	if d.socket != "" {
		sockets = []string{d.socket}
	}
	var dialer net.Dialer
	var first error
	for _, path := range sockets {
		conn, err := dialer.DialContext(ctx, "unix", path)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, &fault.Error{
		Kind: fault.Machinery, Reason: "libvirt", Err: fmt.Errorf("reach libvirt: %w", first),
		Hint: "start libvirtd, and see that this user may connect to it (group libvirt)",
	}
}
