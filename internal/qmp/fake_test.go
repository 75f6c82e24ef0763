package qmp

import (
	"bufio"
	"encoding/json"
	"net"
	"testing"
)

const hello = `{"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": "Debian"}, "capabilities": ["oob"]}}`

// fake is the QEMU side of a session, driven by the test.
type fake struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Scanner
}

type command struct {
	Execute   string          `json:"execute"`
	Arguments json.RawMessage `json:"arguments"`
	ID        string          `json:"id"`
}

func newFake(t *testing.T) (*fake, net.Conn) {
	server, client := net.Pipe()
	t.Cleanup(func() { server.Close() })
	return &fake{t: t, conn: server, in: bufio.NewScanner(server)}, client
}

func (f *fake) say(s string) {
	if _, err := f.conn.Write([]byte(s + "\r\n")); err != nil {
		f.t.Logf("fake QEMU: %v", err)
	}
}

// next reads one command; ok is false once the client is gone.
func (f *fake) next() (c command, ok bool) {
	if !f.in.Scan() {
		return c, false
	}
	if err := json.Unmarshal(f.in.Bytes(), &c); err != nil {
		f.t.Errorf("client sent %q: %v", f.in.Bytes(), err)
	}
	return c, true
}

func (f *fake) reply(id, result string) {
	f.say(`{"return": ` + result + `, "id": "` + id + `"}`)
}

// greet plays the handshake.
func (f *fake) greet() {
	f.say(hello)
	c, _ := f.next()
	if c.Execute != "qmp_capabilities" {
		f.t.Errorf("first command is %q, want qmp_capabilities", c.Execute)
	}
	f.reply(c.ID, "{}")
}

// serve answers every command with what answer says: "" is silence.
func (f *fake) serve(answer func(command) string) {
	f.greet()
	for {
		c, ok := f.next()
		if !ok {
			return
		}
		if s := answer(c); s != "" {
			f.say(s)
		}
	}
}
