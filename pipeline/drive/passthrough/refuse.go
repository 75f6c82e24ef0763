package passthrough

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// refuse gives all that speaks against taking the disk, or nil.
func (d *Disk) refuse(ctx context.Context) error {
	switch {
	case d.ID == "":
		return fmt.Errorf("%s tells nothing that could name it: no serial, no world wide name", d.Node)
	case d.ID != d.Spec.Destroy:
		return &fault.Error{
			Kind: fault.Plan,
			Err:  fmt.Errorf("destroy: %q, but the disk there is %q", d.Spec.Destroy, d.ID),
			Hint: "look which disk it is: lsblk -o NAME,SERIAL,SIZE,MODEL,MOUNTPOINTS " + d.Node,
		}
	case d.read("ro") != "0":
		return fmt.Errorf("%s cannot be written", d.Node)
	case d.Size == 0:
		return fmt.Errorf("%s has no medium: its size is 0", d.Node)
	}
	parts, err := d.parts()
	if err != nil {
		return err
	}
	var against []error
	for _, check := range []func([]part) ([]error, error){d.mounts, d.swaps, d.holders} {
		found, err := check(parts)
		if err != nil {
			return err
		}
		against = append(against, found...)
	}
	if len(against) > 0 {
		return errors.Join(against...)
	}
	if d.Spec.DestroyContents {
		return nil
	}
	return d.contents(ctx, parts)
}

// part is the disk itself, first, or a partition of it.
type part struct {
	name, node string
	number     string // "8:17"
}

func (d *Disk) parts() ([]part, error) {
	list := []part{{d.Name, d.Node, d.read("dev")}}
	entries, err := os.ReadDir(d.dir())
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if number := d.read(e.Name() + "/dev"); d.read(e.Name()+"/partition") != "" {
			list = append(list, part{e.Name(), filepath.Join(filepath.Dir(d.Node), e.Name()), number})
		}
	}
	return list, nil
}

// numbered gives the part whose device number a node has, if one has.
func numbered(parts []part, node string) (part, bool) {
	var st unix.Stat_t
	if unix.Stat(node, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return part{}, false
	}
	return withNumber(parts, fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)))
}

func withNumber(parts []part, number string) (part, bool) {
	i := slices.IndexFunc(parts, func(p part) bool { return p.number == number })
	if i < 0 {
		return part{}, false
	}
	return parts[i], true
}

// mounts looks in the mounts of this process (proc_pid_mountinfo(5)): the
// device number is in the third field, but btrfs has numbers of its own there,
// and then the source in the field behind the dash tells.
func (d *Disk) mounts(parts []part) (against []error, err error) {
	f, err := os.Open(filepath.Join(d.host.Proc, "self/mountinfo"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		dash := slices.Index(fields, "-")
		if dash < 6 || len(fields) < dash+3 {
			continue
		}
		p, ok := withNumber(parts, fields[2])
		if !ok {
			p, ok = numbered(parts, unescaped(fields[dash+2]))
		}
		if ok {
			against = append(against, fmt.Errorf("%s is mounted on %s", p.name, unescaped(fields[4])))
		}
	}
	return against, lines.Err()
}

// unescaped reads the four characters that the kernel writes as octal numbers.
func unescaped(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

func (d *Disk) swaps(parts []part) (against []error, err error) {
	text, err := os.ReadFile(filepath.Join(d.host.Proc, "swaps"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			if p, ok := numbered(parts, unescaped(fields[0])); ok {
				against = append(against, fmt.Errorf("%s is swap space", p.name))
			}
		}
	}
	return against, nil
}

// holders are devices that are made of this one.
func (d *Disk) holders(parts []part) (against []error, err error) {
	for i, p := range parts {
		dir := filepath.Join(d.dir(), p.name, "holders")
		if i == 0 {
			dir = filepath.Join(d.dir(), "holders")
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			by := e.Name()
			if name, err := os.ReadFile(filepath.Join(d.host.Sys, "block", by, "dm/name")); err == nil {
				by += " (" + strings.TrimSpace(string(name)) + ")"
			}
			against = append(against, fmt.Errorf("%s is held by %s", p.name, by))
		}
	}
	return against, nil
}

// contents looks for signatures that libblkid knows: file systems, RAID
// members, physical volumes, partition tables.
func (d *Disk) contents(ctx context.Context, parts []part) error {
	var found []string
	for _, p := range parts {
		out, err := proc.Run(ctx, proc.Cmd{Path: "wipefs", Args: []string{"--json", "--output", "TYPE,LABEL", p.node}})
		if err != nil {
			return fmt.Errorf("look for contents: %w", err)
		}
		types, err := signatures(out.Stdout)
		if err != nil {
			return fmt.Errorf("look for contents of %s: %w", p.node, err)
		}
		for _, t := range types {
			found = append(found, p.name+" has "+t)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &fault.Error{
		Kind: fault.Plan,
		Err:  fmt.Errorf("it is not empty: %s", strings.Join(found, ", ")),
		Hint: "if all of that may be lost, write destroy-contents: true",
	}
}

// signatures reads what wipefs --json says; nothing at all is no signature.
func signatures(text []byte) ([]string, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	var said struct {
		Signatures []struct{ Type, Label string }
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, fmt.Errorf("read what wipefs says: %w", err)
	}
	var types []string
	for _, s := range said.Signatures {
		t := s.Type
		if s.Label != "" {
			t += fmt.Sprintf(" (label %q)", s.Label)
		}
		if !slices.Contains(types, t) { // a GPT has two copies
			types = append(types, t)
		}
	}
	return types, nil
}
