package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/qmp"
	"spindle/pipeline/drive"
)

// The files in a Config's Dir.
const (
	ConsoleLog = "console.log"
	QEMULog    = "qemu.log"
)

// greetLimit bounds the time from QEMU's start to its QMP greeting, 0.1 s on
// an idle host.
const greetLimit = 30 * time.Second

// Machine is a machine that was started.
type Machine struct {
	cfg     Config
	aio     aio
	started time.Time
	process *proc.Process
	monitor *qmp.Conn
	channel net.Conn // the SSH port
	serial  net.Conn // the console
	console *console
	live    *relay // or nil
	log     *os.File

	drained  chan struct{} // the console is read to its end
	followed chan struct{} // and so are QEMU's events

	init, ready, done chan struct{}

	mu       sync.Mutex
	verdict  *verdict      // what ended it, as soon as that is known
	judged   chan struct{} // closed with the first verdict
	findings []Finding
	found    map[Reason]int
	sshd     *Finding // the guest's word that its SSH server is gone
	portOpen bool     // the guest has the SSH port open
	portShut bool     // and later closed it
	shutdown string   // the reason in QEMU's SHUTDOWN event
	sysrqs   int      // lines in which the kernel answers a SysRq
	ending   Ending   // valid after done
}

// Start boots a machine and returns once QEMU runs it; see [Machine.Ready] for
// the guest. When ctx ends, so does the machine.
//
// The error is the plan's if the configuration asks for the impossible, else
// the machinery's; what QEMU said is in it.
func Start(ctx context.Context, cfg Config) (m *Machine, err error) {
	defer cfg.hangUp()
	cfg.fill()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("start machine: %w", err)
	}
	m = &Machine{
		cfg:      cfg,
		drained:  make(chan struct{}),
		followed: make(chan struct{}),
		init:     make(chan struct{}),
		ready:    make(chan struct{}),
		done:     make(chan struct{}),
		judged:   make(chan struct{}),
		found:    make(map[Reason]int),
	}
	if err := m.start(ctx); err != nil {
		return nil, fmt.Errorf("start machine: %w", err)
	}
	return m, nil
}

func (m *Machine) start(ctx context.Context) (err error) {
	var undo []func()
	onFail := func(f func() error) { undo = append(undo, func() { f() }) }
	defer func() {
		if err != nil {
			for _, f := range undo {
				f()
			}
		}
	}()

	file, err := os.Create(filepath.Join(m.cfg.Dir, ConsoleLog))
	if err != nil {
		return err
	}
	onFail(file.Close)
	m.log, err = os.Create(filepath.Join(m.cfg.Dir, QEMULog))
	if err != nil {
		return err
	}
	onFail(m.log.Close)

	var ends [3]*os.File // QEMU's
	var conns [3]net.Conn
	for i := range ends {
		if conns[i], ends[i], err = pair(); err != nil {
			return err
		}
		defer ends[i].Close()
		onFail(conns[i].Close)
	}
	m.serial, m.channel = conns[0], conns[2]
	if m.aio, err = m.cfg.findAIO(ctx); err != nil {
		return err
	}
	cmd, err := m.compose(ends)
	if err != nil {
		return err
	}
	m.process, err = proc.Start(ctx, cmd)
	if err != nil {
		return err
	}
	m.started = time.Now()
	m.cfg.hangUp()
	for _, f := range ends { // or the console would never end
		f.Close()
	}

	m.console = &console{file: file, most: longestLog, see: m.see}
	if m.cfg.Console != nil {
		m.live = newRelay(m.cfg.Console)
		m.console.live = m.live
	}
	go func() {
		defer close(m.drained)
		m.console.drain(m.serial)
	}()
	if err := m.greet(ctx, conns[1]); err != nil {
		m.process.Kill()
		<-m.process.Done()
		m.serial.SetReadDeadline(time.Now().Add(holdOpen))
		<-m.drained
		return m.refused(ctx, err)
	}
	go func() {
		defer close(m.followed)
		m.follow(m.monitor.Subscribe(context.WithoutCancel(ctx)))
	}()
	go m.supervise(ctx)
	return nil
}

// hangUp closes our copies of QEMU's connections to the drives' servers.
func (c *Config) hangUp() {
	for _, d := range c.Drives {
		if d.Client != nil {
			d.Client.Close()
		}
	}
}

// compose makes the command to run and notes it, and one for the shell, in
// qemu.log.
func (m *Machine) compose(ends [3]*os.File) (proc.Cmd, error) {
	devices := m.devices(ends)
	var given files
	args, cmdline := command(devices, m.cfg.Append, &given)
	if len(cmdline) > mostCmdline {
		return proc.Cmd{}, fault.Planf("kernel command line of %d bytes: the kernel reads %d", len(cmdline), mostCmdline)
	}
	byHand, _ := command(devices, m.cfg.Append, &files{byHand: true})
	cmd := proc.Cmd{
		Path: m.cfg.QEMU, Args: args, ExtraFiles: given.list,
		Stdout: struct{ io.Writer }{m.log}, Stderr: struct{ io.Writer }{m.log}, // wrapped, or errors could not quote it
		Grace: time.Second,
	}
	_, err := fmt.Fprintf(m.log, "# Started as follows; the descriptors are sockets of spindle:\n%v\n"+
		"# The same kernel by hand, with a console and empty drives:\n%v\n# QEMU says:\n",
		cmd, proc.Cmd{Path: m.cfg.QEMU, Args: byHand})
	return cmd, err
}

func (m *Machine) devices(ends [3]*os.File) []device {
	c := m.cfg
	list := []device{
		board{memoryMiB: int64(c.Memory >> 20), cpus: c.CPUs, accel: c.Accel},
		bare{},
		linux{image: c.Kernel, initrd: c.Initrd},
		exitOnPanic{},
		serialConsole{ends[0]},
		sysrq{},
		monitor{ends[1]},
		sshPort{ends[2]},
	}
	if c.Root != "" {
		list = append(list, rootDisk{c.Root})
	}
	port := 0
	for i, d := range c.Drives {
		t := testDisk{Disk: d, n: i, port: port, aio: m.aio}
		if d.Bus == drive.AHCI {
			port++
		}
		list = append(list, t)
	}
	return list
}

// greet waits for QEMU's greeting, or until it is clear that none will come.
func (m *Machine) greet(ctx context.Context, conn net.Conn) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetLimit, fmt.Errorf("no QMP greeting within %v", greetLimit))
	defer cancel()
	if m.monitor, err = qmp.Connect(ctx, conn); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// refused explains why there is no QMP session: most often QEMU said why.
func (m *Machine) refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var e *proc.Error
	if errors.As(m.process.Wait(), &e) && e.Signal != syscall.SIGKILL {
		err = e
	}
	return &fault.Error{
		Kind: fault.Machinery, Reason: string(Refused), Err: err, Tail: m.process.Tail(),
		Hint: "the whole command line is in " + filepath.Join(m.cfg.Dir, QEMULog),
	}
}

// Channel is our end of the port that carries SSH, one stream for the life of
// the machine. It is closed when the guest's SSH server goes away.
func (m *Machine) Channel() net.Conn { return m.channel }

// QMP is QEMU's monitor.
func (m *Machine) QMP() *qmp.Conn { return m.monitor }

// Pid is the process id of QEMU.
func (m *Machine) Pid() int { return m.process.Pid() }

// Ready is closed when the guest says that its SSH server listens.
func (m *Machine) Ready() <-chan struct{} { return m.ready }

// Done is closed when the machine has ended, its logs are complete, and nothing
// of it runs any more.
func (m *Machine) Done() <-chan struct{} { return m.done }

// Ending tells how the machine ended. It waits for Done.
func (m *Machine) Ending() Ending {
	<-m.done
	return m.ending
}

// Findings gives what the console has said of trouble so far.
func (m *Machine) Findings() []Finding {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Finding(nil), m.findings...)
}

// Stop ends the machine in good order: QEMU completes what it has under way
// and takes leave of its disks. When ctx ends first the machine is killed, and
// that is the error. How the machine ended otherwise is for Ending to tell.
func (m *Machine) Stop(ctx context.Context) error {
	m.note(verdict{reason: Stopped, detail: "stopped"})
	err := m.monitor.Execute(ctx, "quit", nil, nil)
	if errors.Is(err, qmp.ErrClosed) {
		err = nil
	}
	if err == nil {
		select {
		case <-m.done:
			return nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	m.process.Kill()
	<-m.done
	return fmt.Errorf("stop machine: %w", err)
}

// Close kills the machine if it still runs, and returns when nothing of it is
// left. It may be called any number of times.
func (m *Machine) Close() {
	m.note(verdict{reason: Stopped, detail: "stopped"})
	m.process.Kill()
	<-m.done
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
