package machine

import (
	"context"
	"fmt"
	"strings"

	"spindle/internal/proc"
)

// Version gives the version of a QEMU program with the packager's part, as in
// "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)".
func Version(ctx context.Context, qemu string) (string, error) {
	out, err := proc.Run(ctx, proc.Cmd{Path: qemu, Args: []string{"-version"}})
	if err != nil {
		return "", fmt.Errorf("ask QEMU for its version: %w", err)
	}
	return parseVersion(string(out.Stdout))
}

func parseVersion(out string) (string, error) {
	line, _, _ := strings.Cut(out, "\n")
	_, v, ok := strings.Cut(line, "emulator version ")
	v = strings.TrimSpace(v)
	if !ok || v == "" || v[0] < '0' || v[0] > '9' {
		return "", fmt.Errorf("read QEMU's version: it says %q", clip(line))
	}
	return v, nil
}
