package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"spindle/internal/fault"
	"spindle/internal/nbd"
	"spindle/internal/proc"
	"spindle/internal/qmp"
)

// engine is the QEMU that runs a machine: our child ([proc.Process]), or a
// domain of libvirt's.
type engine interface {
	Pid() int              // 0 where it is not known
	Done() <-chan struct{} // QEMU is gone
	Wait() error           // waits for that; nil if it ended by itself or as asked
	Kill()                 // does not wait
	Tail() string          // the end of what it said
}

// Monitor is QEMU's control channel: our own socket ([qmp.Conn]), or the one
// that libvirt lends ([qmp.Remote]).
type Monitor interface {
	Execute(ctx context.Context, name string, args, out any) error
	Subscribe(ctx context.Context) <-chan qmp.Event
	Done() <-chan struct{}
	Disconnect() error
}

// launched is a QEMU that was started, with our ends of what it has open.
type launched struct {
	engine  engine
	serial  net.Conn // the console
	channel net.Conn // the SSH port
	// greet waits until QEMU can be told things, or it is clear that it never
	// can.
	greet func(context.Context) (Monitor, error)
}

// spawn starts QEMU as our child. All sockets are pairs, of which it inherits
// one end.
func (m *Machine) spawn(ctx context.Context) (l launched, err error) {
	var ours [3]net.Conn
	var theirs [3]*os.File
	defer func() {
		for i, f := range theirs { // or the console would never end
			if f != nil {
				f.Close()
			}
			if err != nil && ours[i] != nil {
				ours[i].Close()
			}
		}
	}()
	for i := range ours {
		if ours[i], theirs[i], err = pair(); err != nil {
			return l, err
		}
	}
	served, err := m.cfg.pairUp()
	defer func() {
		if err != nil {
			for _, s := range served {
				s.conn.Close()
			}
		}
	}()
	if err != nil {
		return l, err
	}
	if m.aio, err = m.cfg.findAIO(ctx); err != nil {
		return l, err
	}
	cmd, err := m.compose(theirs)
	if err != nil {
		return l, err
	}
	process, err := proc.Start(ctx, cmd)
	if err != nil {
		return l, err
	}
	m.cfg.hangUp()
	for _, s := range served {
		go s.serve(s.conn)
	}
	return launched{
		engine: process, serial: ours[0], channel: ours[2],
		greet: func(ctx context.Context) (Monitor, error) { return greet(ctx, process, ours[1]) },
	}, nil
}

// served is a drive's connection and who is to serve it.
type served struct {
	conn  net.Conn
	serve func(net.Conn)
}

// pairUp gives each drive that we serve a client's end to inherit.
func (c *Config) pairUp() (list []served, err error) {
	for i := range c.Drives {
		d := &c.Drives[i]
		if d.Serve == nil {
			continue
		}
		var conn net.Conn
		if conn, d.Client, err = nbd.Pair(); err != nil {
			return list, err
		}
		list = append(list, served{conn, d.Serve})
	}
	return list, nil
}

// compose makes the command to run and notes it, and one for the shell, in
// qemu.log.
func (m *Machine) compose(ends [3]*os.File) (proc.Cmd, error) {
	devices := m.devices(ends)
	var given files
	args, cmdline := command(devices, m.cfg.Append, &given)
	if err := checkCmdline(cmdline); err != nil {
		return proc.Cmd{}, err
	}
	cmd := proc.Cmd{
		Path: m.cfg.QEMU, Args: args, ExtraFiles: given.list,
		Stdout: struct{ io.Writer }{m.log}, Stderr: struct{ io.Writer }{m.log}, // wrapped, or errors could not quote it
		Grace: time.Second,
	}
	_, err := fmt.Fprintf(m.log, "# Started as follows; the descriptors are sockets of spindle:\n%v\n%s# QEMU says:\n", cmd, m.byHand(devices))
	return cmd, err
}

// byHand is for whoever wants to look at the same kernel without us.
func (m *Machine) byHand(devices []device) string {
	args, _ := command(devices, m.cfg.Append, &files{byHand: true})
	return fmt.Sprintf("# The same kernel by hand, with a console and empty drives:\n%v\n", proc.Cmd{Path: m.cfg.QEMU, Args: args})
}

func checkCmdline(cmdline string) error {
	if len(cmdline) > mostCmdline {
		return fault.Planf("kernel command line of %d bytes: the kernel reads %d", len(cmdline), mostCmdline)
	}
	return nil
}

// greet waits for QEMU's greeting. An error that QEMU's own end explains is
// that end.
func greet(ctx context.Context, process *proc.Process, conn net.Conn) (Monitor, error) {
	monitor, err := qmp.Connect(ctx, conn)
	if err == nil {
		return monitor, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	process.Kill()
	<-process.Done()
	var e *proc.Error
	if ctx.Err() == nil && errors.As(process.Wait(), &e) && e.Signal != syscall.SIGKILL {
		err = e
	}
	return nil, err
}

// refused marks a failure to start: most often QEMU said why.
func (m *Machine) refused(err error, tail string) error {
	return &fault.Error{
		Kind: fault.Machinery, Reason: string(Refused), Err: err, Tail: tail,
		Hint: "the whole command line is in " + filepath.Join(m.cfg.Dir, QEMULog),
	}
}

// pair gives two ends of a socket, one of them for a child process.
func pair() (ours net.Conn, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make socket pair: %w", err)
	}
	file := os.NewFile(uintptr(fds[0]), "socketpair")
	theirs = os.NewFile(uintptr(fds[1]), "socketpair")
	defer file.Close() // FileConn works on a copy
	if ours, err = net.FileConn(file); err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("use socket pair: %w", err)
	}
	return ours, theirs, nil
}
