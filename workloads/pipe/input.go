package pipe

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Prepare makes the input, on the drive: random bytes, so that no drive and no
// file system can make less of them; as a gzip file they are stored in it.
func Prepare(o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(o.Dir, InputFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := o.fill(w); err != nil {
		return err
	}
	return errors.Join(w.Flush(), f.Sync())
}

func (o Options) fill(w io.Writer) error {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(o.Seed >> (8 * i))
	}
	random := rand.NewChaCha8(key)
	if !o.Gzip {
		_, err := io.CopyN(w, random, o.Size)
		return err
	}
	z, err := gzip.NewWriterLevel(w, gzip.NoCompression)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(z, random, o.Size); err != nil {
		return err
	}
	return z.Close()
}
