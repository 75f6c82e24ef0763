package images

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/u-root/u-root/pkg/cpio"
	"github.com/ulikunitz/xz"

	"spindle/internal/fault"
	"spindle/internal/store"
)

// Module is a kernel module and what is loaded before it.
type Module struct {
	Name string   `json:"name"`
	File string   `json:"file"` // relative to Modules.Root
	Deps []string `json:"deps"` // names, in load order
}

// Modules are those that a guest may load.
type Modules struct {
	Release string   // uname -r
	Root    string   // directory that their files are relative to
	Order   []Module // each after those that it needs
	Unpack  bool     // decompress the files: the kernel cannot do it
}

// InitramfsSpec says what goes into the initramfs of a kernel.
type InitramfsSpec struct {
	Guest   string // path of spindle-guest, which is /init
	Modules Modules
}

// maxModule bounds a decompressed module, in bytes. With debug information the
// largest file systems take some tens of megabytes.
const maxModule = 1 << 30

// Initramfs gives the initramfs of a kernel, and its SHA-256: an uncompressed
// cpio archive, since the guest would take longer to decompress than to copy.
//
//	/init                  spindle-guest
//	/dev/console           before devtmpfs is there
//	/spindle/modules.json  {"release": ..., "order": [{"name", "file", "deps"}, ...]}
//	/spindle/modules/FILE
//
// More archives may follow it; see [AppendCpio].
func Initramfs(ctx context.Context, env Env, in InitramfsSpec) (path, hash string, err error) {
	h := store.NewKey("initramfs").
		Field("recipe", recipe).
		File("init", in.Guest).
		Field("release", in.Modules.Release).
		Field("unpack", fmt.Sprint(in.Modules.Unpack))
	for _, m := range in.Modules.Order {
		h.Field("module", m.Name).
			Field("deps", strings.Join(m.Deps, " ")).
			File(m.File, filepath.Join(in.Modules.Root, m.File))
	}
	key, err := h.Sum()
	if err != nil {
		return "", "", fmt.Errorf("make initramfs: %w", err)
	}
	dir, err := env.Store.Make(ctx, key, func(ctx context.Context, dir string) error {
		return in.write(filepath.Join(dir, "initramfs.cpio"))
	})
	if err != nil {
		return "", "", fmt.Errorf("make initramfs: %w", err)
	}
	path = filepath.Join(dir, "initramfs.cpio")
	if hash, _, err = hashFile(path); err != nil {
		return "", "", fmt.Errorf("make initramfs: %w", err)
	}
	return path, hash, nil
}

func (in InitramfsSpec) write(to string) error {
	guest, err := os.ReadFile(in.Guest)
	if err != nil {
		return err
	}
	records := []cpio.Record{
		cpio.StaticFile("init", string(guest), 0o755),
		cpio.Directory("dev", 0o755),
		cpio.CharDev("dev/console", 0o600, 5, 1),
		cpio.Directory("proc", 0o755),
		cpio.Directory("run", 0o755),
		cpio.Directory("sys", 0o755),
		cpio.Directory("spindle/modules", 0o755),
	}
	list := struct {
		Release string   `json:"release"`
		Order   []Module `json:"order"`
	}{in.Modules.Release, []Module{}}
	for _, m := range in.Modules.Order {
		if !filepath.IsLocal(m.File) {
			return fmt.Errorf("module %s: file %q is not below its directory", m.Name, m.File)
		}
		data, err := os.ReadFile(filepath.Join(in.Modules.Root, m.File))
		if err != nil {
			return err
		}
		if in.Modules.Unpack {
			if m.File, data, err = unpackModule(m.File, data); err != nil {
				return err
			}
		}
		if m.Deps == nil {
			m.Deps = []string{}
		}
		list.Order = append(list.Order, m)
		records = append(records, cpio.StaticFile("spindle/modules/"+path.Clean(m.File), string(data), 0o644))
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	records = append(records, cpio.StaticFile("spindle/modules.json", string(text)+"\n", 0o644))

	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := writeRecords(f, records); err != nil {
		return err
	}
	return f.Close()
}

// unpackModule decompresses a module by the end of its name, as
// CONFIG_MODULE_COMPRESS_* gives them.
func unpackModule(name string, data []byte) (plain string, out []byte, err error) {
	var r io.Reader
	switch path.Ext(name) {
	case ".ko":
		return name, data, nil
	case ".xz":
		r, err = xz.NewReader(bytes.NewReader(data))
	case ".gz":
		r, err = gzip.NewReader(bytes.NewReader(data))
	case ".zst":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxModule)); err == nil {
			defer d.Close()
			r = d
		}
	default:
		return "", nil, fault.Planf("module %s: spindle reads .ko, .ko.xz, .ko.gz and .ko.zst", name)
	}
	if err == nil {
		out, err = io.ReadAll(io.LimitReader(r, maxModule+1))
	}
	if err == nil && len(out) > maxModule {
		err = fmt.Errorf("it has more than %d bytes", maxModule)
	}
	if err != nil {
		return "", nil, fmt.Errorf("decompress module %s: %w", name, err)
	}
	return strings.TrimSuffix(name, path.Ext(name)), out, nil
}
