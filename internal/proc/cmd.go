package proc

import (
	"bytes"
	"context"
	"io"
	"os"
	"time"
)

// DefaultGrace is how long a program may take to end after SIGTERM where its
// Cmd does not say.
const DefaultGrace = 5 * time.Second

// Cmd is a program to run. It mirrors [os/exec.Cmd].
type Cmd struct {
	Path string   // a name to look up with LookPath, or a path with a slash
	Args []string // without the program's own name
	Dir  string   // working directory; "" is ours
	Env  []string // nil is ours; the mark is added either way

	// Setenv is applied to Env: "NAME=value" sets a variable, "NAME" unsets it.
	Setenv []string

	// Stdin is what the program reads; nil is /dev/null. An *os.File is handed
	// over as it is.
	Stdin io.Reader

	// Stdout and Stderr take what the program writes; nil is nowhere. An
	// *os.File is handed over as it is, and then errors cannot quote it.
	Stdout, Stderr io.Writer

	// ExtraFiles become descriptors 3, 4, ... of the program. The caller closes
	// its own copies after Start.
	ExtraFiles []*os.File

	// Grace is the time between SIGTERM and SIGKILL once the context is
	// cancelled. Zero means DefaultGrace, a negative value SIGKILL at once.
	Grace time.Duration

	// Terminal leaves the program in our process group, so that it may ask the
	// person at the terminal (sudo wants a password). Only the program itself
	// and what carries the mark are signalled then.
	Terminal bool

	// Unguarded does without the guardian: nothing ends the program when this
	// process is killed, beside the kernel's signal to a direct child. It saves
	// the start of a shell, and is right only where nothing outlives this
	// process anyway, as in a guest that is used once.
	Unguarded bool
}

// Output is what a program wrote, as far as its Cmd did not send it elsewhere.
type Output struct {
	Stdout, Stderr []byte
}

// Run starts a program and waits for it. Output is kept in memory unless
// c.Stdout or c.Stderr say otherwise, also when the program fails. The error is
// an [*Error] unless the program could not be found.
func Run(ctx context.Context, c Cmd) (Output, error) {
	var stdout, stderr bytes.Buffer
	if c.Stdout == nil {
		c.Stdout = &stdout
	}
	if c.Stderr == nil {
		c.Stderr = &stderr
	}
	p, err := Start(ctx, c)
	if err == nil {
		err = p.Wait()
	}
	return Output{stdout.Bytes(), stderr.Bytes()}, err
}
