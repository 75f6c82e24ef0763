package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// again decodes what v encodes to.
func again[T any](t *testing.T, v T, decode func([]byte) (T, error)) T {
	t.Helper()
	data, err := encode(v)
	if err != nil {
		t.Fatalf("encode what was read: %v", err)
	}
	w, err := decode(data)
	if err != nil {
		t.Fatalf("read what was written: %v\n%s", err, data)
	}
	return w
}

func FuzzManifest(f *testing.F) {
	m := testManifest()
	m.Format, m.Plan.Hash = Format, hashText(m.Plan.Text)
	seed, err := encode(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:len(seed)/2])
	f.Add([]byte(`{"format": 99, "arms": 7}`))
	f.Add([]byte(`{"format": 1}{}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeManifest(data)
		if err != nil {
			return
		}
		once := again(t, m, decodeManifest)
		if d := cmp.Diff(once, again(t, once, decodeManifest)); d != "" {
			t.Errorf("a manifest changes as it is written again:\n%s", d)
		}
	})
}

func FuzzSample(f *testing.F) {
	s := testSample(87.9611)
	s.Block, s.Attempt, s.Cell = 1, 1, testManifest().Blocks[0][0]
	s.Outcome = Outcome{Kind: KernelFault, Reason: "hang", Log: ConsoleLog, Line: 412}
	seed, err := encode(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:len(seed)/2])
	f.Add([]byte(`{"block": 1, "attempt": 1, "outcome": {"kind": "ok"}, "metrics": [{"name": "x", "direction": "lower", "value": 1e999}]}`))
	f.Add([]byte(`{"block": 1, "attempt": 1, "outcome": {"kind": "ok", "log": "/etc/passwd"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeSample(data)
		if err != nil {
			return
		}
		once := again(t, s, decodeSample)
		if d := cmp.Diff(once, again(t, once, decodeSample)); d != "" {
			t.Errorf("a sample changes as it is written again:\n%s", d)
		}
	})
}
