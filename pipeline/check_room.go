package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"spindle/internal/unit"
)

// CheckRoom looks whether this host has the memory of the plan's guests, and
// whether files as large as its drives can be in dir, where samples will make
// them. They are sparse, so it is not the room on the
// disk that counts, but what its file system allows of one file: 16 TiB on ext4.
// Where dir is not there yet it is its parent that is looked at.
func (p *Plan) CheckRoom(dir string) error {
	s := &source{file: p.source.file, lines: p.source.lines}
	p.checkMemory(s, hostMemory())
	if err := p.checkFiles(s, dir); err != nil {
		return err
	}
	return s.err()
}

// hostMemory is what this host has in all; 0 where it does not say.
func hostMemory() unit.Size {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return unit.Size(info.Totalram) * unit.Size(info.Unit)
}

// checkMemory refuses guests larger than the host. What is free now does not
// count: it may be another when the run begins.
func (p *Plan) checkMemory(s *source, has unit.Size) {
	if has <= 0 {
		return
	}
	for i := range p.Arms {
		arm := &p.Arms[i]
		wants := p.memory(arm)
		if wants < has {
			continue
		}
		at := p.root.get("arms", arm.Name, "memory")
		if at == nil {
			at = p.root.get("machine", "memory")
		}
		scaled := ""
		if p.Scale != 0 && p.Scale != 1 {
			scaled = fmt.Sprintf(" (scale %s)", p.Scale)
		}
		message := fmt.Sprintf("memory %s%s: this host has %s in all, and needs some itself; give the guest less, or run a share of the plan (--scale 1/8)", wants, scaled, has.Near())
		switch {
		case at == nil: // the default
			s.entry(p.root.get("arms", arm.Name), "%s", message)
		case !at.wrong:
			s.value(at, "%s", message)
		}
	}
}

// checkFiles looks for the room of the drives.
func (p *Plan) checkFiles(s *source, dir string) error {
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
	return nil
}
