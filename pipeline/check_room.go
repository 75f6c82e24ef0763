package pipeline

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// CheckRoom looks whether files as large as the plan's drives can be in dir,
// where samples will make them. They are sparse, so it is not the room on the
// disk that counts, but what its file system allows of one file: 16 TiB on ext4.
func (p *Plan) CheckRoom(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "room-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
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
