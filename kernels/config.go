package kernels

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"spindle/kernels/kconfig"
)

// Config is a kernel's configuration.
type Config = kconfig.Config

// ParseConfig reads a .config.
func ParseConfig(r io.Reader) (Config, error) { return kconfig.Parse(r) }

// maxConfig bounds an embedded configuration, in bytes; Debian's takes 300 kB.
const maxConfig = 16 << 20

// embeddedConfig finds the configuration that CONFIG_IKCONFIG puts into a
// vmlinux, gzipped between two marks (kernel/configs.c). It is nil if there is
// none.
func embeddedConfig(vmlinux []byte) ([]byte, error) {
	rest := vmlinux
	for {
		_, after, ok := bytes.Cut(rest, []byte("IKCFG_ST"))
		if !ok {
			return nil, nil
		}
		rest = after
		if !bytes.HasPrefix(rest, []byte("\x1f\x8b")) {
			continue // the mark in code that looks for it
		}
		z, err := gzip.NewReader(bytes.NewReader(rest))
		if err != nil {
			return nil, fmt.Errorf("read the configuration in the image: %w", err)
		}
		z.Multistream(false)
		text, err := io.ReadAll(io.LimitReader(z, maxConfig+1))
		if err != nil {
			return nil, fmt.Errorf("read the configuration in the image: %w", err)
		}
		if len(text) > maxConfig {
			return nil, fmt.Errorf("read the configuration in the image: it has more than %d bytes", maxConfig)
		}
		return text, nil
	}
}
