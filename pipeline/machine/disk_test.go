package machine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/nbd"
	"spindle/pipeline/drive"
	"spindle/pipeline/machine"

	"github.com/google/go-cmp/cmp"
)

// memory is a drive that holds its label in the first block and zeros.
type memory struct {
	label  string
	broken atomic.Bool // answers with an error
	deaf   atomic.Bool // answers no write
}

func (m *memory) Size() int64 { return 64 << 20 }

func (m *memory) Submit(r *nbd.Request, done func(error)) {
	if m.deaf.Load() && r.Op == nbd.Write {
		return
	}
	if m.broken.Load() {
		done(nbd.ErrIO)
		return
	}
	if r.Op == nbd.Read {
		clear(r.Data)
		if r.Offset == 0 {
			copy(r.Data, m.label)
		}
	}
	done(nil)
}

// serve gives QEMU's end of a connection to m.
func serve(t *testing.T, m *memory) *os.File {
	t.Helper()
	conn, client, err := nbd.Pair()
	if err != nil {
		t.Fatal(err)
	}
	go nbd.Serve(t.Context(), conn, m, nbd.Options{Flush: true, FUA: true, Trim: true})
	t.Cleanup(func() { conn.Close() })
	return client
}

// Every bus brings its drive into the guest under its serial, as what the Disk
// says it is.
func TestDrives(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root, with a comma")
	if err := os.WriteFile(root, append([]byte("the root image"), make([]byte, 1<<20-14)...), 0o644); err != nil {
		t.Fatal(err)
	}
	m := boot(t, "ready", func(c *machine.Config) {
		c.Root = root
		for i, d := range []machine.Disk{
			{Bus: drive.AHCI, Rotation: 7200, WriteCache: true},
			{Bus: drive.VirtioSCSI, Rotation: 10000, WriteCache: true, QueueDepth: 3},
			{Bus: drive.VirtioBlk, WriteCache: false, QueueDepth: 9},
			{Bus: drive.AHCI, Rotation: 1, WriteCache: false},
			{Bus: drive.VirtioSCSI, QueueDepth: 1},
			{Bus: drive.VirtioBlk, QueueDepth: 1, WriteCache: true},
		} {
			d.Serial = fmt.Sprint("spindle-d", i)
			d.Client = serve(t, &memory{label: fmt.Sprint("drive ", i)})
			c.Drives = append(c.Drives, d)
		}
	})
	p := ready(t, m)
	root0 := p.holds("spindle-root", "the root image")
	if got := p.ask("show /sys/block/" + root0 + "/ro"); got != "1" {
		t.Errorf("root disk: ro is %q", got)
	}

	// What the kernel makes of each drive. Depths and rotation are what the
	// Disk asks for; max_sectors_kb of AHCI shows that libata does not take the
	// disk for one behind a bridge.
	tests := []map[string]string{
		{"queue/rotational": "1", "queue/write_cache": "write back", "queue/fua": "0", "device/queue_depth": "32", "queue/max_sectors_kb": "1280"},
		{"queue/rotational": "1", "queue/write_cache": "write back", "queue/fua": "1", "device/queue_depth": "3"},
		{"queue/rotational": "1", "queue/write_cache": "write through", "queue/nr_requests": "16"},
		{"queue/rotational": "0", "queue/write_cache": "write through", "device/queue_depth": "32"},
		{"queue/write_cache": "write through", "device/queue_depth": "1"},
		{"queue/write_cache": "write back", "queue/nr_requests": "4", "queue/max_segments": "126"},
	}
	for i, want := range tests {
		name := p.holds(fmt.Sprint("spindle-d", i), fmt.Sprint("drive ", i))
		got := map[string]string{}
		for file := range want {
			got[file] = p.ask("show /sys/block/" + name + "/" + file)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("drive %d (-want +got):\n%s", i, diff)
		}
	}
	if err := m.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	ends(t, m, machine.Stopped, fault.Machinery, "")
}

// holds reads a disk's first bytes and gives its name.
func (p *port) holds(serial, contents string) (name string) {
	p.t.Helper()
	name, got, _ := strings.Cut(p.ask("read "+serial), " ")
	if got != contents {
		p.t.Errorf("%s is %q and holds %q, want %q", serial, name, got, contents)
	}
	return name
}

// A failure on the host's side of a drive is ours, and not a thing that the
// guest sees.
func TestDriveError(t *testing.T) {
	d := &memory{label: "drive"}
	client := serve(t, d)
	m := boot(t, "ready", func(c *machine.Config) {
		c.Drives = []machine.Disk{{Bus: drive.VirtioBlk, Serial: "spindle-d0", Client: client}}
	})
	p := ready(t, m)
	if got := p.ask("read spindle-d0"); !strings.HasSuffix(got, " drive") {
		t.Fatalf("before: %q", got)
	}
	d.broken.Store(true)
	p.send("read spindle-d0")
	e := ends(t, m, machine.DriveError, fault.Machinery, "^read of spindle-d0 failed on the host's side: ")
	if bytes.Contains([]byte(e.Tail), []byte("I/O error, dev")) {
		t.Errorf("the guest saw it:\n%s", e.Tail)
	}
}

// What a drive fails that is to fail is the guest's to see, and ends nothing.
func TestDriveMeantToFail(t *testing.T) {
	d := &memory{label: "drive"}
	client := serve(t, d)
	m := boot(t, "ready", func(c *machine.Config) {
		c.Drives = []machine.Disk{{Bus: drive.VirtioBlk, Serial: "spindle-d0", Client: client, Fails: true}}
	})
	p := ready(t, m)
	d.broken.Store(true)
	if got := p.ask("read spindle-d0"); !strings.Contains(got, "input/output error") {
		t.Errorf("a read gave %q", got)
	}
	if got := p.ask("echo alive"); got != "alive" {
		t.Errorf("then %q", got)
	}
	if err := m.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	ends(t, m, machine.Stopped, fault.Machinery, "")
}

// A task that waits for a drive too long is found in what the kernel prints of
// it; the machine goes on. A QEMU that waits for the drive does not quit, and is
// killed in time.
func TestHungTask(t *testing.T) {
	d := &memory{label: "drive"}
	client := serve(t, d)
	m := boot(t, "ready", func(c *machine.Config) {
		c.Drives = []machine.Disk{{Bus: drive.VirtioBlk, Serial: "spindle-d0", Client: client}}
		c.Append = append(c.Append, "sysctl.kernel.hung_task_timeout_secs=2")
	})
	p := ready(t, m)
	d.deaf.Store(true)
	if got := p.ask("sync spindle-d0"); got != "written <nil>" {
		t.Fatal(got)
	}
	for range 300 {
		if len(m.Findings()) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := m.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop: got %v, want deadline exceeded", err)
	}
	e := ends(t, m, machine.Stopped, fault.Machinery, "")
	if bad := e.Bad(); len(bad) == 0 || bad[0].Reason != machine.Hang || !strings.Contains(bad[0].Text, "blocked for more than") {
		t.Errorf("findings %v, want a blocked task", e.Findings)
	}
}
