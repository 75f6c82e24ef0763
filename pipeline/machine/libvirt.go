package machine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
	goqemu "github.com/digitalocean/go-qemu/qmp"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/qmp"
)

const (
	// createLimit bounds the making of a domain. It takes half a second, but a
	// daemon that distrusts what it knows of QEMU asks it anew each time.
	createLimit = 2 * time.Minute
	// callLimit bounds any other call. Destroying takes 2 s where the daemon
	// waits for the zombie.
	callLimit = 20 * time.Second
	// acceptLimit is how long QEMU, which runs by then, may take to have all
	// its sockets connected.
	acceptLimit = 10 * time.Second
	// afterwards is how long after the news of QEMU's end its last events, which
	// come by another connection, may arrive.
	afterwards = 300 * time.Millisecond
)

// domain is a QEMU that libvirt runs for us: a transient domain that the daemon
// destroys when our connection ends, however that happens.
type domain struct {
	name    string
	virt    *libvirt.Libvirt
	dom     libvirt.Domain
	done    chan struct{}
	ended   sync.Once
	release func()      // gives back directories, here and there
	monitor *qmp.Remote // set before the guest runs

	mu     sync.Mutex
	killed bool
	err    error // valid after done
}

// define has libvirt start QEMU. We listen on the sockets that it inherits
// otherwise, in a directory of our own, and it connects.
func (m *Machine) define(ctx context.Context) (l launched, err error) {
	d, err := parseLibvirt(m.cfg.Libvirt)
	if err != nil {
		return l, err
	}
	dir, remove, err := proc.TempDir(ctx, m.cfg.Sockets, "vm")
	if err != nil {
		return l, err
	}
	v := &domain{name: "spindle-" + token(), done: make(chan struct{}), release: func() { remove() }}
	defer func() {
		if err != nil {
			v.release()
		}
	}()
	sockets, err := m.listen(dir)
	defer func() {
		for _, s := range sockets {
			s.listener.Close()
		}
	}()
	if err != nil {
		return l, err
	}
	place := place{dir: dir, cfg: m.cfg}
	if d.ssh == nil {
		if place.emulator, err = proc.LookPath(m.cfg.QEMU); err != nil {
			return l, err
		}
	} else if d, err = place.move(ctx, d, v, m.names()); err != nil {
		return l, err
	}
	conn, err := d.dial(ctx)
	if err != nil {
		return l, err
	}
	v.virt = libvirt.NewWithDialer(dialers.NewAlreadyConnected(conn))
	defer func() {
		if err != nil {
			v.virt.Disconnect() // which destroys the domain, if there is one
			conn.Close()
		}
	}()
	if err := within(ctx, callLimit, v.virt.Connect); err != nil {
		return l, fault.New(fault.Machinery, "libvirt", fmt.Errorf("connect to libvirt: %w", err))
	}
	if err := v.create(ctx, m, place); err != nil {
		return l, err
	}
	if l.serial, err = sockets[0].wait(); err != nil {
		return l, err
	}
	if l.channel, err = sockets[1].wait(); err != nil {
		l.serial.Close()
		return l, err
	}
	go v.follow(ctx)
	l.engine, l.greet = v, func(ctx context.Context) (Monitor, error) { return v.run(ctx, d) }
	return l, nil
}

func token() string {
	b := make([]byte, 6)
	rand.Read(b) // never fails: it crashes the program instead
	return hex.EncodeToString(b)
}

// place is where QEMU finds things: the sockets' directory, the files of the
// machine, its own program ("" is the daemon's choice).
type place struct {
	dir      string
	cfg      Config
	emulator string
}

// move makes the place one on the daemon's host: our files are brought there,
// and our sockets.
func (p *place) move(ctx context.Context, d daemon, v *domain, names []string) (daemon, error) {
	f, err := reachFar(ctx, d.ssh, d.socket, p.dir, names)
	if err != nil {
		return d, err
	}
	here := v.release
	v.release = func() { f.close(ctx); here() }
	d = daemon{socket: filepath.Join(p.dir, "libvirt")}
	p.dir = f.dir
	for _, file := range []struct {
		path *string
		keep bool
	}{{&p.cfg.Kernel, true}, {&p.cfg.Root, true}, {&p.cfg.Initrd, false}} { // the initrd has keys
		if *file.path == "" {
			continue
		}
		if *file.path, err = f.put(ctx, *file.path, file.keep); err != nil {
			return d, err
		}
	}
	return d, nil
}

// names are those of the sockets, as the devices have them.
func (m *Machine) names() []string {
	names := []string{"console", "ssh"}
	for i := range m.cfg.Drives {
		names = append(names, testDisk{n: i}.node())
	}
	return names
}

// socket is one that QEMU connects to.
type socket struct {
	listener net.Listener
	conn     chan net.Conn // of the console and the SSH port
}

// listen makes the sockets. Drives are served as soon as QEMU connects: it asks
// them for their size before libvirt calls it started.
func (m *Machine) listen(dir string) (list []socket, err error) {
	for i, name := range m.names() {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			return list, err
		}
		s := socket{listener: l, conn: make(chan net.Conn, 1)}
		use := func(c net.Conn) { s.conn <- c }
		if drive := i - (len(m.names()) - len(m.cfg.Drives)); drive >= 0 {
			use = m.cfg.Drives[drive].Serve
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				use(c)
			}
		}()
		list = append(list, s)
	}
	return list, nil
}

// wait gives QEMU's connection. It is there once libvirt has started QEMU.
func (s socket) wait() (net.Conn, error) {
	select {
	case c := <-s.conn:
		return c, nil
	case <-time.After(acceptLimit):
		return nil, fmt.Errorf("QEMU did not connect to %s within %v", s.listener.Addr(), acceptLimit)
	}
}

// create makes the domain, paused: its events are asked for before it runs.
func (v *domain) create(ctx context.Context, m *Machine, p place) error {
	var caps string
	err := within(ctx, createLimit, func() (err error) { caps, err = v.virt.ConnectGetCapabilities(); return err })
	if err != nil {
		return fmt.Errorf("ask libvirt what it can: %w", err)
	}
	security, err := labels(caps)
	if err != nil {
		return err
	}
	there := &Machine{cfg: p.cfg}
	devices := there.devices([3]*os.File{})
	text, err := there.domainXML(v.name, p.emulator, security, lent(devices), p.dir)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(m.log, "# Started by libvirt (%s) as follows; the sockets are spindle's:\n%s\n%s# libvirt says:\n", m.cfg.Libvirt, text, m.byHand(devices)); err != nil {
		return err
	}
	err = within(ctx, createLimit, func() (err error) {
		v.dom, err = v.virt.DomainCreateXML(text, libvirt.DomainStartAutodestroy|libvirt.DomainStartPaused)
		return err
	})
	if err != nil {
		fmt.Fprintln(m.log, err)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return m.refused(fmt.Errorf("create domain: %w", err), "")
	}
	return nil
}

// lent leaves out what libvirt sees to itself.
func lent(devices []device) (list []device) {
	for _, d := range devices {
		switch d.(type) {
		case board, bare, linux, monitor:
		default:
			list = append(list, d)
		}
	}
	return list
}

// run opens the monitor and lets the guest go.
func (v *domain) run(ctx context.Context, d daemon) (Monitor, error) {
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	m := goqemu.NewLibvirtRPCMonitor(v.name, conn)
	if err := within(ctx, callLimit, m.Connect); err != nil {
		conn.Close()
		return nil, fmt.Errorf("open monitor: %w", err)
	}
	remote, err := qmp.Over(m)
	if err != nil {
		m.Disconnect()
		return nil, err
	}
	v.mu.Lock()
	v.monitor = remote
	v.mu.Unlock()
	if err := within(ctx, callLimit, func() error { return v.virt.DomainResume(v.dom) }); err != nil {
		return nil, fmt.Errorf("let the guest run: %w", err)
	}
	return remote, nil
}

// follow waits for the domain's end.
func (v *domain) follow(ctx context.Context) {
	// Registered on a context of its own: that of the machine may end first.
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	events, err := v.virt.LifecycleEvents(watching)
	if err != nil {
		v.end(fmt.Errorf("follow domain: %w", err))
		return
	}
	// It may have ended before.
	if _, err := v.virt.DomainLookupByName(v.name); libvirt.IsNotFound(err) {
		v.end(nil)
		return
	}
	interrupted := ctx.Done()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				v.end(errors.New("the connection to libvirt ended"))
				return
			}
			if e.Dom.Name != v.name || e.Event != int32(libvirt.DomainEventStopped) {
				continue
			}
			v.end(stopped(libvirt.DomainEventStoppedDetailType(e.Detail)))
			return
		case <-interrupted:
			interrupted = nil
			v.Kill()
		}
	}
}

// stopped is why a domain stopped, as far as that is an error.
func stopped(detail libvirt.DomainEventStoppedDetailType) error {
	switch detail {
	case libvirt.DomainEventStoppedCrashed:
		return errors.New("QEMU crashed or was killed: its last words are in libvirt's log of the domain")
	case libvirt.DomainEventStoppedFailed:
		return errors.New("QEMU ended and libvirt does not know why: see its log of the domain")
	}
	return nil
}

// end tells that QEMU is gone.
func (v *domain) end(err error) {
	v.ended.Do(func() {
		time.Sleep(afterwards)
		v.mu.Lock()
		monitor := v.monitor
		if !v.killed {
			v.err = err
		}
		v.mu.Unlock()
		if monitor != nil {
			monitor.Disconnect()
		}
		within(context.Background(), callLimit, v.virt.Disconnect)
		v.release()
		close(v.done)
	})
}

// Pid is not known: libvirt keeps it to itself.
func (v *domain) Pid() int { return 0 }

func (v *domain) Done() <-chan struct{} { return v.done }

func (v *domain) Wait() error {
	<-v.done
	return v.err
}

// Tail is nothing: what QEMU says goes into libvirt's log.
func (v *domain) Tail() string { return "" }

// Kill destroys the domain. If the daemon does not do it, the end of our
// connection has it done, and we wait no longer.
func (v *domain) Kill() {
	v.mu.Lock()
	again := v.killed
	v.killed = true
	v.mu.Unlock()
	if again {
		return
	}
	go func() {
		err := within(context.Background(), callLimit, func() error { return v.virt.DomainDestroyFlags(v.dom, 0) })
		if err == nil || libvirt.IsNotFound(err) {
			select {
			case <-v.done:
				return
			case <-time.After(callLimit):
			}
		}
		v.end(nil)
	}()
}

// within runs a call of libvirt's, none of which knows a context. One that does
// not return in time is left to itself.
func within(ctx context.Context, limit time.Duration, call func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer from libvirt within %v", limit))
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- call() }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
