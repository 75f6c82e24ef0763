package kernels

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz/lzma"

	"spindle/internal/proc"
)

// maxVmlinux bounds what is decompressed, in bytes. Distribution kernels take
// up to 100 MB.
const maxVmlinux = 1 << 30

// vmlinux decompresses the payload. It is nil if the image has none or one of
// a kind that is not known here (LZO), which a guest can boot all the same.
// The formats are those of CONFIG_KERNEL_*; see scripts/Makefile.lib.
func (image *bzImage) vmlinux(ctx context.Context) ([]byte, error) {
	p := image.payload
	if len(p) < 8 {
		return nil, nil
	}
	// The size stands behind the compressed data; gzip has it there anyway.
	size := int64(binary.LittleEndian.Uint32(p[len(p)-4:]))
	body := p[:len(p)-4]
	var r io.Reader
	var err error
	switch {
	case bytes.HasPrefix(p, []byte("\x28\xb5\x2f\xfd")):
		// The kernel's build uses windows of up to 128 MiB.
		var d *zstd.Decoder
		d, err = zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(1<<27), zstd.WithDecoderMaxMemory(maxVmlinux))
		if err == nil {
			defer d.Close()
			r = d
		}
	case bytes.HasPrefix(p, []byte("\x1f\x8b")):
		r, err = gzip.NewReader(bytes.NewReader(p))
	case bytes.HasPrefix(p, []byte("\x02\x21\x4c\x18")): // the "legacy" frames of lz4 -l
		r = lz4.NewReader(bytes.NewReader(body))
	case bytes.HasPrefix(p, []byte("BZh")):
		r = bzip2.NewReader(bytes.NewReader(body))
	case bytes.HasPrefix(p, []byte("\x5d\x00\x00")):
		r, err = lzma.NewReader(bytes.NewReader(body))
	case bytes.HasPrefix(p, []byte("\xfd7zXZ\x00")):
		return unxz(ctx, body, size)
	case bytes.HasPrefix(p, []byte("\x7fELF")): // CONFIG_KERNEL_UNCOMPRESSED
		return body, nil
	default:
		return nil, nil
	}
	var out []byte
	if err == nil {
		out, err = readSized(r, size)
	}
	if err != nil {
		return nil, fmt.Errorf("decompress kernel: %w", err)
	}
	return out, nil
}

// readSized reads what must have size bytes.
func readSized(r io.Reader, size int64) ([]byte, error) {
	if size > maxVmlinux {
		return nil, fmt.Errorf("it claims %d bytes", size)
	}
	// The size is not trusted with memory before the data are there.
	out, err := io.ReadAll(io.LimitReader(r, size+1))
	if err != nil {
		return nil, err
	}
	if int64(len(out)) != size {
		return nil, fmt.Errorf("it should give %d bytes, not %d", size, len(out))
	}
	return out, nil
}

// unxz has the program decompress: the kernel's build filters the code before
// (--x86), which no library in Go undoes.
func unxz(ctx context.Context, body []byte, size int64) ([]byte, error) {
	out := &capped{left: min(size, maxVmlinux)}
	_, err := proc.Run(ctx, proc.Cmd{Path: "xz", Args: []string{"--decompress", "--stdout"}, Stdin: bytes.NewReader(body), Stdout: out})
	switch {
	case err != nil:
		return nil, fmt.Errorf("decompress kernel: %w", err)
	case int64(out.Len()) != size:
		return nil, fmt.Errorf("decompress kernel: it should give %d bytes, not %d", size, out.Len())
	}
	return out.Bytes(), nil
}

// capped keeps up to so many bytes and fails after them.
type capped struct {
	bytes.Buffer
	left int64
}

func (c *capped) Write(p []byte) (int, error) {
	if int64(len(p)) > c.left {
		return 0, errors.New("more than the kernel says that it has")
	}
	c.left -= int64(len(p))
	return c.Buffer.Write(p)
}
