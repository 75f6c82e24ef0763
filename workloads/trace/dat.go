package trace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Pack writes a trace.dat of version 6 (trace-cmd.dat.v6(5)). tracefs is the
// directory that the events were traced in, kallsyms the file of the kernel's
// symbols, pages the content of each CPU's buffer. clock is the trace clock.
func Pack(w io.Writer, tracefs, kallsyms, clock string, pages [][]byte) error {
	p := packer{w: bufio.NewWriterSize(w, 1<<16)}
	p.bytes([]byte("\x17\x08\x44tracing6\x00"))
	p.bytes([]byte{0, 8}) // little endian, longs of 8 bytes
	p.u32(PageSize)
	for _, name := range []string{"header_page", "header_event"} {
		p.bytes([]byte(name + "\x00"))
		p.file64(filepath.Join(tracefs, "events", name))
	}
	ftrace, err := formats(filepath.Join(tracefs, "events", "ftrace"))
	if err != nil {
		return fmt.Errorf("pack trace: %w", err)
	}
	p.u32(len(ftrace))
	for _, f := range ftrace {
		p.file64(f)
	}
	if err := p.systems(tracefs); err != nil {
		return fmt.Errorf("pack trace: %w", err)
	}
	p.file32(kallsyms)
	p.file32(filepath.Join(tracefs, "printk_formats"))
	p.file64(filepath.Join(tracefs, "saved_cmdlines"))
	p.u32(len(pages))
	p.bytes([]byte("options  \x00"))
	p.option(optionClock, []byte(clockLine(clock)))
	p.u16(0)
	p.bytes([]byte("flyrecord\x00"))
	at := align(p.n + 16*len(pages))
	for _, cpu := range pages {
		p.u64(at)
		p.u64(len(cpu))
		at = align(at + len(cpu))
	}
	for _, cpu := range pages {
		p.bytes(make([]byte, align(p.n)-p.n))
		p.bytes(cpu)
	}
	return errors.Join(p.err, p.w.Flush())
}

// optionClock is TRACECMD_OPTION_TRACECLOCK: the file trace_clock, the one in use
// in brackets.
const optionClock = 4

func clockLine(clock string) string { return "[" + clock + "]\n\x00" }

func align(n int) int { return (n + PageSize - 1) &^ (PageSize - 1) }

// formats gives the format files of one system of events, by name.
func formats(dir string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(dir, "*", "format"))
	slices.Sort(all)
	return all, err
}

// packer writes and counts. The first error is kept.
type packer struct {
	w   *bufio.Writer
	n   int
	err error
}

func (p *packer) bytes(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
	p.n += len(b)
}

func (p *packer) u16(n int) { p.bytes(binary.LittleEndian.AppendUint16(nil, uint16(n))) }
func (p *packer) u32(n int) { p.bytes(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
func (p *packer) u64(n int) { p.bytes(binary.LittleEndian.AppendUint64(nil, uint64(n))) }

func (p *packer) option(id int, data []byte) {
	p.u16(id)
	p.u32(len(data))
	p.bytes(data)
}

// file64 and file32 put a file there behind its size. One that this kernel does
// not have is empty.
func (p *packer) file64(path string) {
	b := p.read(path)
	p.u64(len(b))
	p.bytes(b)
}

func (p *packer) file32(path string) {
	b := p.read(path)
	p.u32(len(b))
	p.bytes(b)
}

func (p *packer) read(path string) []byte {
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && p.err == nil {
		p.err = err
	}
	return bytes.TrimRight(b, "\x00")
}

// systems puts the formats of the events there that are switched on. Those of
// others are some hundred files, and nothing refers to them.
func (p *packer) systems(tracefs string) error {
	dirs, err := os.ReadDir(filepath.Join(tracefs, "events"))
	if err != nil {
		return err
	}
	type system struct {
		name    string
		formats []string
	}
	var all []system
	for _, d := range dirs {
		if !d.IsDir() || d.Name() == "ftrace" {
			continue
		}
		fs, err := formats(filepath.Join(tracefs, "events", d.Name()))
		if err != nil {
			return err
		}
		var on []string
		for _, f := range fs {
			if text, err := os.ReadFile(filepath.Join(filepath.Dir(f), "enable")); err == nil && len(text) > 0 && text[0] == '1' {
				on = append(on, f)
			}
		}
		if len(on) > 0 {
			all = append(all, system{d.Name(), on})
		}
	}
	p.u32(len(all))
	for _, s := range all {
		p.bytes([]byte(s.name + "\x00"))
		p.u32(len(s.formats))
		for _, f := range s.formats {
			p.file64(f)
		}
	}
	return nil
}
