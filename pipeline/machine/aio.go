package machine

import (
	"context"
	"fmt"
	"strings"

	"spindle/internal/proc"
)

// aio is how QEMU's file drivers wait for the host: words of its -blockdev.
type aio string

const (
	ioURing  aio = "io_uring" // not in every build, and kernels forbid it (kernel.io_uring_disabled)
	linuxAIO aio = "native"   // io_submit(2); in every build for Linux that has libaio
	threads  aio = "threads"  // a pool; the slowest, and always there
)

// findAIO tries which way this QEMU has on this kernel, the best first, by
// opening its own program file. Only a disk of the host needs one.
func (c *Config) findAIO(ctx context.Context) (aio, error) {
	needed := false
	for _, d := range c.Drives {
		needed = needed || d.Host != nil
	}
	if !needed {
		return "", nil
	}
	path, err := proc.LookPath(c.QEMU)
	if err != nil {
		return "", err
	}
	for _, a := range []aio{ioURing, linuxAIO} {
		_, err := proc.Run(ctx, proc.Cmd{
			Path: path, Stdin: strings.NewReader("quit\n"),
			Args: []string{
				"-machine", "none", "-nodefaults", "-no-user-config", "-display", "none", "-monitor", "stdio",
				"-blockdev", options(map[string]any{
					"driver": "file", "node-name": "try", "filename": path, "read-only": true,
					"aio": string(a), "cache": map[string]any{"direct": true},
				}),
			},
		})
		if err == nil {
			return a, nil
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("find out how QEMU waits for disks: %w", context.Cause(ctx))
		}
	}
	return threads, nil
}
