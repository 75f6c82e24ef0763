package pipe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/proc"
	"spindle/workloads/latency"
)

// Role takes over a process that was started as one of this program's: args are
// without the program's own name. ok is false if they name something else.
func Role(ctx context.Context, self []string, args []string) (code int, ok bool) {
	var err error
	switch {
	case len(args) == 1 && args[0] == copyRole:
		err = passOn(os.Stdin, os.Stdout)
	case len(args) == 2 && args[0] == mainRole:
		var o Options
		if err = json.Unmarshal([]byte(args[1]), &o); err == nil {
			err = Run(ctx, o, self, os.Stderr)
		}
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		return 1, true
	}
	return 0, true
}

// passOn copies by the 64 KiB that a pipe holds.
func passOn(in, out *os.File) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if _, err := out.Write(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Run reads the input and sends it where the options say. What the original
// prints goes to said.
func Run(ctx context.Context, o Options, self []string, said io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(o.Dir, InputFile))
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := fileSize(f)
	if err != nil {
		return err
	}
	start := time.Now()
	to, err := o.sink(ctx, self)
	if err != nil {
		return err
	}
	p := &pump{Options: o, ctx: ctx, f: f, w: to.w, said: said}
	err = p.run(size)
	err = errors.Join(err, to.close(ctx.Err() != nil))
	if err != nil {
		return err
	}
	if o.Rewrite {
		unix.Sync()
	}
	rep := Report{
		Read: p.reads.report(start), Write: p.writes.report(start), Extra: p.extra,
		Seconds: time.Since(start).Seconds(), Stalls: latency.Merge(p.reads.times, p.writes.times),
	}
	p.reads.print(said)
	p.writes.print(said)
	fmt.Fprintf(said, "Read rate (KiB/sec) : %d\nWrite rate (KiB/sec): %d\n", rep.Read.rate(), rep.Write.rate())
	text, err := json.Marshal(rep)
	if err != nil {
		return err
	}
	return os.WriteFile(o.Report, text, 0o600)
}

// sink is where the blocks go.
type sink struct {
	w *os.File
	p *proc.Process // that reads the pipe; nil if there is none
}

func (o Options) sink(ctx context.Context, self []string) (*sink, error) {
	if !o.Rewrite {
		w, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		return &sink{w: w}, err
	}
	out, err := os.OpenFile(filepath.Join(o.Dir, OutputFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := proc.Cmd{Path: self[0], Args: append(append([]string(nil), self[1:]...), copyRole), Unguarded: true}
	if o.Gzip {
		cmd = proc.Cmd{Path: "gzip", Args: []string{"-dc"}, Unguarded: true}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, out, os.Stderr
	p, err := proc.Start(context.WithoutCancel(ctx), cmd)
	if err != nil {
		w.Close()
		return nil, err
	}
	return &sink{w: w, p: p}, nil
}

// close ends the pipe and waits for the second process. A run that was cut short
// leaves gzip with half a file, which it complains of.
func (s *sink) close(short bool) error {
	err := s.w.Close()
	if s.p == nil {
		return err
	}
	if werr := s.p.Wait(); werr != nil && !short {
		err = errors.Join(err, werr)
	}
	return err
}
