package drive

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/nbd"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/pipeline/drive/timing"
)

// attach serves d and gives the client's end, ready for requests.
func attach(b testing.TB, d *Drive) net.Conn {
	b.Helper()
	server, file, err := nbd.Pair()
	if err != nil {
		b.Fatal(err)
	}
	go nbd.Serve(context.Background(), server, d, d.Export())
	conn, err := net.FileConn(file)
	if err != nil {
		b.Fatal(err)
	}
	file.Close()
	b.Cleanup(func() { conn.Close() })
	hello := make([]byte, 18)
	io.ReadFull(conn, hello)
	// Flags, and EXPORT_NAME with an empty name.
	conn.Write([]byte("\x00\x00\x00\x03IHAVEOPT\x00\x00\x00\x01\x00\x00\x00\x00"))
	if _, err := io.ReadFull(conn, make([]byte, 10)); err != nil {
		b.Fatal(err)
	}
	return conn
}

// message is a request as it goes over the wire.
func message(cmd uint16, length int, payload []byte) []byte {
	h := make([]byte, 28, 28+len(payload))
	binary.BigEndian.PutUint32(h, 0x25609513)
	binary.BigEndian.PutUint16(h[6:], cmd)
	binary.BigEndian.PutUint32(h[24:], uint32(length))
	return append(h, payload...)
}

// trip is one request and its answer.
func trip(b *testing.B, conn net.Conn, request []byte, offset int64, answer []byte) {
	binary.BigEndian.PutUint64(request[16:], uint64(offset))
	if _, err := conn.Write(request); err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(conn, answer); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRoundTrip is a 4 KiB read of an untimed drive over NBD.
func BenchmarkRoundTrip(b *testing.B) {
	d := make1(b, Spec{Profile: "raw"}, Options{})
	conn := attach(b, d)
	request, answer := message(0, 4096, nil), make([]byte, 16+4096)
	for i := range b.N {
		trip(b, conn, request, int64(i%1000)*4096, answer)
	}
}

// BenchmarkLateness is how late answers leave, for several times of service.
func BenchmarkLateness(b *testing.B) {
	for _, service := range []time.Duration{200 * time.Microsecond, 2 * time.Millisecond, 8 * time.Millisecond} {
		b.Run(service.String(), func(b *testing.B) {
			d := make1(b, small, Options{})
			d.newModel = func() timing.Model { return &steady{service: service} }
			d.Timed(true)
			conn := attach(b, d)
			request, answer := message(0, 4096, nil), make([]byte, 16+4096)
			b.ResetTimer()
			for i := range b.N {
				trip(b, conn, request, int64(i%1000)*4096, answer)
			}
			l := d.Stats().Lateness
			us := func(d time.Duration) float64 { return float64(d) / 1e3 }
			b.ReportMetric(us(l.Mean), "mean-µs")
			b.ReportMetric(us(l.P50), "p50-µs")
			b.ReportMetric(us(l.P99), "p99-µs")
			b.ReportMetric(us(l.Max), "max-µs")
		})
	}
}

// cpuTime is what this process has used, client included.
func cpuTime() time.Duration {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWrite is how fast payloads get into an untimed drive, and the CPU
// time of both ends, which a busy host does not falsify.
func BenchmarkWrite(b *testing.B) {
	for _, zero := range []bool{true, false} {
		for _, size := range []int{64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("zero=%v/%dKiB", zero, size>>10), func(b *testing.B) {
				d := make1(b, Spec{Profile: "raw"}, Options{Backing: b.TempDir()})
				conn := attach(b, d)
				payload := make([]byte, size)
				if !zero {
					for i := range payload {
						payload[i] = byte(i)
					}
				}
				request, answer := message(1, size, payload), make([]byte, 16)
				b.SetBytes(int64(size))
				b.ResetTimer()
				from := cpuTime()
				defer func() {
					perMiB := (cpuTime() - from).Seconds() * 1e6 / float64(b.N) / float64(size) * (1 << 20)
					b.ReportMetric(perMiB, "cpu-µs/MiB")
				}()
				for i := range b.N {
					trip(b, conn, request, int64(i%256)*int64(size), answer)
				}
			})
		}
	}
}

// BenchmarkModel is the CPU time of the model for one random request, at a
// depth that makes it choose.
func BenchmarkModel(b *testing.B) {
	for _, op := range []timing.Op{timing.Read, timing.Write} {
		b.Run(fmt.Sprintf("op=%d", op), func(b *testing.B) {
			closedLoop(b, Spec{Profile: "sata-7200", QueueDepth: 31}, 31, 0, b.N, randomly(op, 500e9, 8, false))
		})
	}
	b.Run("sequential", func(b *testing.B) {
		closedLoop(b, Spec{Profile: "sata-7200", QueueDepth: 1}, 1, 0, b.N, sequentially(timing.Read, 256))
	})
}

// BenchmarkPeer is random reads of 4 KiB, sixteen at a time, by fio from the
// drive without timing, and from nbdkit's memory plugin: what a server in C with
// threads can do on this host.
func BenchmarkPeer(b *testing.B) {
	proctest.Need(b, "fio", "nbdkit")
	measure := func(b *testing.B, uri string) {
		for b.Loop() {
			out := run(b, "fio", "--name=r", "--ioengine=nbd", "--uri="+uri, "--rw=randread", "--bs=4k", "--iodepth=16",
				"--size=1g", "--runtime=3", "--time_based", "--norandommap", "--output-format=terse", "--terse-version=3")
			fields := strings.Split(out, ";")
			if len(fields) < 8 {
				b.Fatalf("fio: %s", out)
			}
			iops, err := strconv.ParseFloat(fields[7], 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(iops, "IOPS")
		}
	}
	b.Run("spindle", func(b *testing.B) { measure(b, listen(b, make1(b, Spec{Profile: "ideal", Size: 1 << 30}, Options{}))) })
	b.Run("nbdkit", func(b *testing.B) {
		dir, err := os.MkdirTemp("", "nbdkit")
		if err != nil {
			b.Fatal(err)
		}
		defer os.RemoveAll(dir)
		socket := filepath.Join(dir, "s")
		p, err := proc.Start(b.Context(), proc.Cmd{Path: "nbdkit", Args: []string{"-f", "-U", socket, "memory", "1G"}})
		if err != nil {
			b.Fatal(err)
		}
		defer p.Kill()
		for range 200 {
			if _, err := os.Stat(socket); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		measure(b, "nbd+unix:///?socket="+socket)
	})
}
