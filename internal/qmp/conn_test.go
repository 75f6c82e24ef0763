package qmp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func connect(t *testing.T, answer func(f *fake, c command) string) *Conn {
	t.Helper()
	f, client := newFake(t)
	go f.serve(func(c command) string { return answer(f, c) })
	q, err := Connect(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Disconnect() })
	return q
}

func TestConnect(t *testing.T) {
	q := connect(t, func(*fake, command) string { return "" })
	if got, want := q.Version().String(), "7.2.22"; got != want {
		t.Errorf("version %q, want %q", got, want)
	}
	if got, want := q.Version().Package, "Debian"; got != want {
		t.Errorf("package %q, want %q", got, want)
	}
}

func TestConnectFails(t *testing.T) {
	tests := map[string]struct {
		play func(f *fake)
		want string
	}{
		"gone at once": {func(f *fake) { f.conn.Close() }, "EOF"},
		"not QMP":      {func(f *fake) { f.say("SSH-2.0-OpenSSH_9.2") }, "invalid character"},
		"cut off": {func(f *fake) {
			io.WriteString(f.conn, hello[:20])
			f.conn.Close()
		}, "in the middle of a message"},
		"refused": {func(f *fake) {
			f.say(hello)
			c, _ := f.next()
			f.say(`{"error": {"class": "CommandNotFound", "desc": "no"}, "id": "` + c.ID + `"}`)
		}, "qmp qmp_capabilities: CommandNotFound: no"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, client := newFake(t)
			go test.play(f)
			_, err := Connect(t.Context(), client)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if _, err := client.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("connection left open: write gives %v", err)
			}
		})
	}
}

func TestConnectHonoursContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := newFake(t) // says nothing
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := Connect(ctx, client)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want deadline exceeded", err)
		}
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("came back after %v", d)
		}
	})
}

func TestExecute(t *testing.T) {
	q := connect(t, func(f *fake, c command) string {
		switch c.Execute {
		case "query-status":
			return `{"return": {"status": "running", "running": true}, "id": "` + c.ID + `"}`
		case "echo":
			return `{"id": "` + c.ID + `", "return": ` + string(c.Arguments) + `}`
		}
		return `{"id": "` + c.ID + `", "error": {"class": "GenericError", "desc": "Device 'x' not found"}}`
	})
	var status struct{ Status string }
	if err := q.Execute(t.Context(), "query-status", nil, &status); err != nil {
		t.Fatal(err)
	}
	if status.Status != "running" {
		t.Errorf("status %q", status.Status)
	}

	type where struct{ Offset uint64 }
	in := where{1<<63 + 1}
	var out where
	if err := q.Execute(t.Context(), "echo", in, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Errorf("arguments did not survive (-sent +got):\n%s", diff)
	}

	err := q.Execute(t.Context(), "eject", map[string]any{"id": "x"}, nil)
	want := &Error{Class: "GenericError", Desc: "Device 'x' not found"}
	var got *Error
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
	if got, want := err.Error(), "qmp eject: Device 'x' not found"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

// Replies in any order, with events between them, reach their callers.
func TestExecuteConcurrently(t *testing.T) {
	const n = 500
	var held string
	q := connect(t, func(f *fake, c command) string {
		reply := `{"return": ` + string(c.Arguments) + `, "id": "` + c.ID + `"}`
		f.say(`{"event": "STOP", "timestamp": {"seconds": 1, "microseconds": 2}}`)
		if held == "" { // answer pairs in reverse
			held = reply
			return ""
		}
		first := held
		held = ""
		return reply + "\r\n" + first
	})
	go func() {
		for range q.Subscribe(t.Context()) {
		}
	}()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			var got struct{ I int }
			if err := q.Execute(t.Context(), "echo", map[string]int{"i": i}, &got); err != nil {
				t.Error(err)
			} else if got.I != i {
				t.Errorf("asked with %d, got the reply to %d", i, got.I)
			}
		})
	}
	all.Wait()
}

func TestLongReply(t *testing.T) {
	long := strings.Repeat("schema ", 200_000)
	q := connect(t, func(f *fake, c command) string {
		return fmt.Sprintf(`{"return": %q, "id": %q}`, long, c.ID)
	})
	var got string
	if err := q.Execute(t.Context(), "query-qmp-schema", nil, &got); err != nil {
		t.Fatal(err)
	}
	if got != long {
		t.Errorf("got %d bytes, want %d", len(got), len(long))
	}
}

// A late reply to a command that was given up is not taken for another's.
func TestLateReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late string
		q := connect(t, func(f *fake, c command) string {
			if c.Execute == "slow" {
				late = `{"return": "slow", "id": "` + c.ID + `"}`
				return ""
			}
			return late + "\r\n" + `{"return": "fast", "id": "` + c.ID + `"}`
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Execute(ctx, "slow", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want deadline exceeded", err)
		}
		var got string
		if err := q.Execute(t.Context(), "fast", nil, &got); err != nil || got != "fast" {
			t.Errorf("got %q, %v", got, err)
		}
		q.Disconnect()
	})
}

// A QEMU that reads nothing, as under SIGSTOP, holds up no context.
func TestExecuteAgainstStoppedQEMU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, client := newFake(t)
		go f.greet() // and then never reads again
		q, err := Connect(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := q.Execute(ctx, "query-status", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want deadline exceeded", err)
			}
			cancel()
		}
		q.Disconnect()
	})
}

func TestPeerDies(t *testing.T) {
	q := connect(t, func(f *fake, c command) string { f.conn.Close(); return "" })
	err := q.Execute(t.Context(), "query-status", nil, nil)
	if !errors.Is(err, ErrClosed) || !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want ErrClosed for EOF", err)
	}
	<-q.Done()
	if err := q.Execute(t.Context(), "again", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("later: got %v, want ErrClosed", err)
	}
	if err := q.Connect(); !errors.Is(err, ErrClosed) {
		t.Errorf("Monitor.Connect: got %v, want ErrClosed", err)
	}
}

func TestReplyWithoutID(t *testing.T) {
	q := connect(t, func(*fake, command) string {
		return `{"error": {"class": "GenericError", "desc": "JSON parse error"}}`
	})
	err := q.Execute(t.Context(), "query-status", nil, nil)
	if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "JSON parse error") {
		t.Errorf("got %v, want ErrClosed with QEMU's words", err)
	}
}

func TestRun(t *testing.T) {
	q := connect(t, func(f *fake, c command) string {
		if c.Execute != "echo" {
			return `{"id": "` + c.ID + `", "error": {"class": "CommandNotFound", "desc": "no such"}}`
		}
		return `{"id": "` + c.ID + `", "return": ` + string(c.Arguments) + `}`
	})
	tests := []struct{ in, want, err string }{
		{in: `{"execute": "echo", "arguments": {"n": 9223372036854775809}}`, want: `{"return": {"n": 9223372036854775809}}`},
		{in: `{"execute": "echo", "arguments": [], "id": 7}`, want: `{"return": [], "id": 7}`},
		{in: `{"execute": "stop"}`, err: "qmp: CommandNotFound: no such"},
		{in: `stop`, err: "read qmp command: invalid character 's' looking for beginning of value"},
	}
	for _, test := range tests {
		got, err := q.Run([]byte(test.in))
		if err != nil {
			if err.Error() != test.err {
				t.Errorf("%s: error %q, want %q", test.in, err, test.err)
			}
			continue
		}
		if diff := cmp.Diff(normal(t, test.want), normal(t, string(got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.in, diff)
		}
	}
}

// normal decodes JSON keeping numbers as they are written.
func normal(t *testing.T, s string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}
