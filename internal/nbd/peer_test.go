package nbd

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

// listen serves m to every client of a unix socket and gives the socket's path.
func listen(t *testing.T, m Backend, o Options) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nbd") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go Serve(context.Background(), conn, m, o)
		}
	}()
	return path
}

func run(t *testing.T, path string, args ...string) string {
	t.Helper()
	out, err := proc.Run(t.Context(), proc.Cmd{Path: path, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Stdout)
}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

func TestNbdinfo(t *testing.T) {
	proctest.Need(t, "nbdinfo")
	socket := listen(t, newMemory(64<<20), everything)
	var got struct {
		Protocol string
		Exports  []map[string]any
	}
	out := run(t, "nbdinfo", "--json", "nbd+unix:///disk?socket="+socket)
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Exports) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	if got.Protocol != "newstyle-fixed" {
		t.Errorf("protocol %q", got.Protocol)
	}
	for key, want := range map[string]any{
		"export-size": 64.0 * (1 << 20), "is_rotational": true, "is_read_only": false,
		"can_flush": true, "can_fua": true, "can_trim": true, "can_zero": true, "can_multi_conn": false,
		"can_df": false, "can_fast_zero": false,
		"block_size_minimum": 512.0, "block_size_preferred": 4096.0, "block_size_maximum": 32.0 * (1 << 20),
	} {
		if v := got.Exports[0][key]; v != want {
			t.Errorf("%s = %v, want %v", key, v, want)
		}
	}
	if out := run(t, "nbdinfo", "--list", "nbd+unix://?socket="+socket); !strings.Contains(out, `export="disk"`) {
		t.Errorf("list: %s", out)
	}
	_, err := proc.Run(t.Context(), proc.Cmd{Path: "nbdinfo", Args: []string{"nbd+unix:///other?socket=" + socket}})
	if err == nil {
		t.Error("an export of another name was found")
	}
}

func TestNbdcopy(t *testing.T) {
	proctest.Need(t, "nbdcopy")
	m := newMemory(24 << 20)
	socket := listen(t, m, everything)
	src, dst := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "dst")
	data := noise(len(m.data))
	clear(data[5<<20 : 9<<20])
	if err := os.WriteFile(src, data, 0o600); err != nil {
		t.Fatal(err)
	}
	uri := "nbd+unix:///disk?socket=" + socket
	run(t, "nbdcopy", "--flush", src, uri)
	if !bytes.Equal(m.content(), data) {
		t.Error("the device differs from what was copied onto it")
	}
	if m.count(Flush) == 0 {
		t.Error("no flush arrived")
	}
	run(t, "nbdcopy", uri, dst)
	if back, err := os.ReadFile(dst); err != nil || !bytes.Equal(back, data) {
		t.Errorf("read back: %v, equal %v", err, bytes.Equal(back, data))
	}
}

func TestQemuIO(t *testing.T) {
	proctest.Need(t, "qemu-io")
	m := newMemory(64 << 20)
	socket := listen(t, m, everything)
	out := run(t, "qemu-io", "-t", "writeback", "-f", "raw", "nbd+unix:///disk?socket="+socket,
		"-c", "write -P 0x5a 1M 2M", "-c", "write -f -P 0x77 4k 4k", "-c", "write -z 2M 512k", "-c", "discard 8M 1M",
		"-c", "read -P 0x5a 1M 1M", "-c", "read -P 0 2M 512k", "-c", "read -P 0x77 4k 4k",
		"-c", "aio_write -P 1 16M 64k", "-c", "aio_write -P 2 17M 64k", "-c", "aio_flush",
		"-c", "read -P 2 17M 64k", "-c", "flush")
	if strings.Contains(out, "failed") || strings.Contains(out, "Pattern") {
		t.Error(out)
	}
	if d := m.content(); d[1<<20] != 0x5a || d[2<<20] != 0 || d[4096] != 0x77 || d[17<<20] != 2 {
		t.Error("the device does not hold what qemu-io wrote")
	}
	if m.count(Trim) == 0 || m.count(WriteZeroes) == 0 || m.count(Flush) == 0 || m.flagged() != 1 {
		t.Errorf("trim %d, write-zeroes %d, flush %d, FUA %d; want some of each and one FUA",
			m.count(Trim), m.count(WriteZeroes), m.count(Flush), m.flagged())
	}
}

// QEMU takes the client end by descriptor number, named on its command line.
func TestQemuByDescriptor(t *testing.T) {
	proctest.Need(t, "qemu-io", "qemu-system-x86_64")
	m := newMemory(1 << 20)
	copy(m.data, bytes.Repeat([]byte{0x3c}, 4096))
	for _, tt := range []struct {
		path string
		args []string
	}{
		{"qemu-io", []string{"-c", "read -P 0x3c 0 4k", "-c", "write 8k 4k",
			"--image-opts", "driver=nbd,server.type=fd,server.str=3,export=disk"}},
		{"qemu-system-x86_64", []string{"-M", "none", "-nodefaults", "-display", "none", "-S",
			"-blockdev", "driver=nbd,node-name=d0,server.type=fd,server.str=3,export=disk",
			"-monitor", "stdio"}},
	} {
		server, client, err := Pair()
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- Serve(t.Context(), server, m, everything) }()
		p, err := proc.Run(t.Context(), proc.Cmd{Path: tt.path, Args: tt.args, ExtraFiles: []*os.File{client},
			Stdin: strings.NewReader("info block -n d0\nquit\n")})
		client.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("%s: Serve = %v", tt.path, err)
		}
		if out := string(p.Stdout); strings.Contains(out, "failed") || strings.Contains(tt.path, "system") && !strings.Contains(out, "d0: ") {
			t.Errorf("%s: %s", tt.path, out)
		}
	}
	if m.count(Read) == 0 || m.count(Write) == 0 {
		t.Errorf("%d reads, %d writes", m.count(Read), m.count(Write))
	}
}
