package machine

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"spindle/internal/fault"
)

// daemon is a libvirtd.
type daemon struct {
	socket string   // "" is where daemons listen by default
	ssh    []string // arguments of ssh to its host; nil for this one
}

// daemonSockets are where daemons listen: the one for all hypervisors, and the
// one for QEMU alone that newer hosts have.
var daemonSockets = []string{"/run/libvirt/libvirt-sock", "/run/libvirt/virtqemud-sock"}

// parseLibvirt reads a libvirt URI (https://libvirt.org/uri.html), as far as
// machines can be had by it. Errors are the plan's.
func parseLibvirt(uri string) (daemon, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return daemon{}, fault.Planf("libvirt: %w", err)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return daemon{}, fault.Planf("libvirt %q: %w", uri, err)
	}
	remote := u.Scheme == "qemu+ssh"
	if u.Path != "/system" || remote == (u.Hostname() == "") || !remote && u.Scheme != "qemu" && u.Scheme != "qemu+unix" {
		return daemon{}, fault.Planf("libvirt %q: want qemu:///system or qemu+ssh://HOST/system", uri)
	}
	d := daemon{socket: query.Get("socket")}
	if remote {
		if d.socket == "" {
			d.socket = daemonSockets[0]
		}
		if user := u.User.Username(); user != "" {
			d.ssh = append(d.ssh, "-l", user)
		}
		if port := u.Port(); port != "" {
			d.ssh = append(d.ssh, "-p", port)
		}
	}
	for key, values := range query {
		switch {
		case key == "socket":
		case remote && key == "keyfile":
			d.ssh = append(d.ssh, "-i", values[0])
		case remote && key == "known_hosts":
			d.ssh = append(d.ssh, "-o", "UserKnownHostsFile="+values[0])
		case remote:
			return daemon{}, fault.Planf("libvirt %q: of parameters there are socket, keyfile and known_hosts", uri)
		default:
			return daemon{}, fault.Planf("libvirt %q: of parameters there is socket", uri)
		}
	}
	if remote {
		if strings.HasPrefix(u.Hostname(), "-") {
			return daemon{}, fault.Planf("libvirt %q: no host's name", uri)
		}
		d.ssh = append(d.ssh, "--", u.Hostname())
	}
	return d, nil
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
