package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

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
	process engine
	monitor Monitor
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
	cfg.Drives = slices.Clone(cfg.Drives)
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

	launch := m.spawn
	if m.cfg.Libvirt != "" {
		launch = m.define
	}
	l, err := launch(ctx)
	if err != nil {
		return err
	}
	m.process, m.serial, m.channel, m.started = l.engine, l.serial, l.channel, time.Now()
	onFail(m.channel.Close)

	m.console = &console{file: file, most: longestLog, see: m.see}
	if m.cfg.Console != nil {
		m.live = newRelay(m.cfg.Console)
		m.console.live = m.live
	}
	go func() {
		defer close(m.drained)
		m.console.drain(m.serial)
	}()
	if err := m.greet(ctx, l.greet); err != nil {
		m.process.Kill()
		<-m.process.Done()
		m.serial.SetReadDeadline(time.Now().Add(holdOpen))
		<-m.drained
		m.serial.Close()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return m.refused(err, m.process.Tail())
	}
	go func() {
		defer close(m.followed)
		m.follow(m.monitor.Subscribe(context.WithoutCancel(ctx)))
	}()
	go m.supervise(ctx)
	go m.watchFrozen()
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

func (m *Machine) board() device {
	return board{memoryMiB: int64(m.cfg.Memory >> 20), cpus: m.cfg.CPUs, accel: m.cfg.Accel}
}

func (m *Machine) devices(ends [3]*os.File) []device {
	c := m.cfg
	list := []device{
		m.board(),
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

// greet waits for QEMU's monitor, or until it is clear that none will come.
func (m *Machine) greet(ctx context.Context, connect func(context.Context) (Monitor, error)) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetLimit, fmt.Errorf("no QMP greeting within %v", greetLimit))
	defer cancel()
	m.monitor, err = connect(ctx)
	return err
}

// Channel is our end of the port that carries SSH, one stream for the life of
// the machine. It is closed when the guest's SSH server goes away.
func (m *Machine) Channel() net.Conn { return m.channel }

// QMP is QEMU's monitor.
func (m *Machine) QMP() Monitor { return m.monitor }

// Pid is the process id of QEMU, 0 if it is not known.
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

// leaveLimit is how long a machine may take to be gone whose answer to being
// told so was lost. Libvirt takes seconds to clear up behind a domain, more of
// them on a busy host.
const leaveLimit = 20 * time.Second

// Stop ends the machine in good order: QEMU completes what it has under way
// and takes leave of its disks. When ctx ends first the machine is killed, and
// that is the error. How the machine ended otherwise is for Ending to tell.
func (m *Machine) Stop(ctx context.Context) error {
	m.note(verdict{reason: Stopped, detail: "stopped"})
	err := m.monitor.Execute(ctx, "quit", nil, nil)
	if errors.Is(err, qmp.ErrClosed) {
		err = nil
	}
	if err != nil { // libvirt hears the end instead of the answer
		select {
		case <-m.done:
		case <-ctx.Done():
		case <-time.After(leaveLimit):
		}
		select {
		case <-m.done:
			err = nil
		default:
		}
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
