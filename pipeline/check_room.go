package pipeline

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CheckRoom looks whether files as large as the plan's drives can be in dir,
// where samples will make them. They are sparse, so it is not the room on the
// disk that counts, but what its file system allows of one file: 16 TiB on ext4.
// Where dir is not there yet it is its parent that is looked at.
func (p *Plan) CheckRoom(dir string) error {
	for {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	// A file without a name; where there are none, or not for us, the sample
	// will find out.
	f, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err != nil {
		return nil
	}
	defer f.Close()
	s := &source{file: p.source.file, lines: p.source.lines}
	for _, name := range p.Conditions.Drive {
		spec := p.Drives[name]
		if spec.OfHost() {
			continue
		}
		for _, m := range spec.Members() {
			dev, err := m.Device()
			if err != nil {
				return err
			}
			if err := f.Truncate(int64(dev.Size)); errors.Is(err, unix.EFBIG) {
				s.entry(p.root.get("drives", name), "drive %s has %s, and no file in %s can be that large (on ext4: 16 TiB); present less of it, such as size: 8TiB", name, dev.Size.Near(), dir)
				break
			} else if err != nil {
				return err
			}
		}
	}
	return s.err()
}
