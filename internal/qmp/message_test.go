package qmp

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		in   string
		want message
		err  bool
	}{
		"greeting":       {in: hello, want: message{kind: isGreeting}},
		"event":          {in: `{"event": "STOP", "timestamp": {"seconds": 1, "microseconds": 2}}`, want: message{kind: isEvent, event: Event{Event: "STOP"}}},
		"reply":          {in: `{"return": {}, "id": "a"}`, want: message{id: "a", result: json.RawMessage(`{}`)}},
		"null reply":     {in: `{"return": null, "id": "a"}`, want: message{id: "a", result: json.RawMessage(`null`)}},
		"number id":      {in: `{"return": 1, "id": 5}`, want: message{id: "5", result: json.RawMessage(`1`)}},
		"refusal":        {in: `{"error": {"class": "C", "desc": "d"}, "id": "a"}`, want: message{id: "a", err: &Error{"C", "d"}}},
		"no id":          {in: `{"error": {"class": "C", "desc": "d"}}`, want: message{err: &Error{"C", "d"}}},
		"unknown member": {in: `{"return": 1, "id": "a", "new": [1]}`, want: message{id: "a", result: json.RawMessage(`1`)}},
		"empty":          {in: `{}`, err: true},
		"array":          {in: `[]`, err: true},
		"event number":   {in: `{"event": 5}`, err: true},
		"bad data":       {in: `{"event": "STOP", "data": []}`, err: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parse([]byte(test.in))
			if (err != nil) != test.err {
				t.Fatalf("error %v", err)
			}
			got.version = Version{}
			got.event.Timestamp = Event{}.Timestamp
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(message{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Whatever arrives, parse does not panic, takes nothing that is not JSON, and
// gives every reply the id a plain decoding finds.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		hello,
		`{"event": "BLOCK_IO_ERROR", "data": {"device": "", "nospace": false, "node-name": "d0", "reason": "Input/output error", "operation": "write", "action": "stop"}, "timestamp": {"seconds": 1, "microseconds": 2}}`,
		`{"return": {"status": "running", "singlestep": false, "running": true}, "id": "spindle-2"}`,
		`{"error": {"class": "GenericError", "desc": "JSON parse error, expecting value"}}`,
		`{"id": null, "return": null}`, `{"event": null, "error": null}`, `"\ud800"`, `{`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parse(raw)
		if err != nil {
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("took %q", raw)
		}
		switch m.kind {
		case isEvent:
			again, err := json.Marshal(m.event)
			if err != nil {
				t.Fatal(err)
			}
			n, err := parse(again)
			if err != nil {
				t.Fatalf("own event %s: %v", again, err)
			}
			if diff := cmp.Diff(m.event, n.event); diff != "" {
				t.Errorf("event changed:\n%s", diff)
			}
		case isReply:
			if (m.err == nil) == (m.result == nil) {
				t.Errorf("%q: neither result nor refusal, or both", raw)
			}
		}
	})
}
