package qmp

import (
	"encoding/json"
	"fmt"
)

type kind int

const (
	isReply kind = iota
	isEvent
	isGreeting
)

// message is one thing QEMU said; which fields hold depends on kind.
type message struct {
	kind    kind
	version Version         // greeting
	event   Event           // event
	id      string          // reply: "" if it had none
	result  json.RawMessage // reply: its "return"
	err     *Error          // reply: the refusal
}

// parse reads one JSON value from QEMU. Members it does not know are skipped,
// as the protocol demands of clients.
func parse(raw []byte) (message, error) {
	var wire struct {
		QMP *struct {
			Version Version `json:"version"`
		} `json:"QMP"`
		Event  *string         `json:"event"`
		ID     json.RawMessage `json:"id"`
		Return json.RawMessage `json:"return"`
		Error  *struct {
			Class string `json:"class"`
			Desc  string `json:"desc"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return message{}, fmt.Errorf("read qmp message %s: %w", clip(raw), err)
	}
	switch {
	case wire.QMP != nil:
		return message{kind: isGreeting, version: wire.QMP.Version}, nil
	case wire.Event != nil:
		m := message{kind: isEvent}
		if err := json.Unmarshal(raw, &m.event); err != nil {
			return message{}, fmt.Errorf("read qmp event %s: %w", clip(raw), err)
		}
		return m, nil
	case wire.Error != nil:
		e := &Error{Class: wire.Error.Class, Desc: wire.Error.Desc}
		return message{kind: isReply, id: idOf(wire.ID), err: e}, nil
	case wire.Return != nil:
		return message{kind: isReply, id: idOf(wire.ID), result: wire.Return}, nil
	}
	return message{}, fmt.Errorf("read qmp message %s: neither greeting, event nor reply", clip(raw))
}

// idOf gives the id of a reply. Ours are strings; the rest of what JSON allows
// is kept as it was written, which matches none of ours.
func idOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// clip shortens a message for an error text.
func clip(raw []byte) string {
	const most = 200
	if len(raw) > most {
		return fmt.Sprintf("%q...", raw[:most])
	}
	return fmt.Sprintf("%q", raw)
}
