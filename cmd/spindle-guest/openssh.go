package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"spindle/workloads"
)

// openSSHD serves SSH on a virtio port by the image's own OpenSSH, as inetd
// would: one process a connection, which is its standard input and output. The
// guest needs no network for it, and the host no TCP port that other users of
// it could reach.
func openSSHD(ctx context.Context, port string) error {
	program, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		return fmt.Errorf("serve SSH by OpenSSH: %w (the image needs openssh-server)", err)
	}
	// Where it separates privileges; the image's /run is not the guest's.
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		return err
	}
	key := func(name string) string { return filepath.Join(workloads.GuestDir, name) }
	args := []string{
		"-i", "-e", "-f", "/dev/null", // nothing of the image's configuration
		"-o", "HostKey=" + key(workloads.HostKeyFile),
		"-o", "AuthorizedKeysFile=" + key(workloads.AuthorizedFile),
		"-o", "PermitRootLogin=prohibit-password", "-o", "PasswordAuthentication=no",
		"-o", "StrictModes=no", // the keys lie in the initramfs, of which everything is root's
		"-o", "UsePAM=no", "-o", "UseDNS=no", "-o", "PrintMotd=no",
		"-o", "Subsystem=sftp internal-sftp",
		"-o", "MaxSessions=100",
	}
	node, err := findPort(ctx, "/sys", "/dev", port)
	if err != nil {
		return err
	}
	return eachConnection(ctx, node, func(conn portConn) error {
		defer conn.Close()
		c := exec.CommandContext(ctx, program, args...)
		c.Stdin, c.Stdout, c.Stderr = conn.File, conn.File, os.Stderr
		return c.Run()
	})
}
