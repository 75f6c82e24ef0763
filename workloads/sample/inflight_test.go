package sample

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inflight")
	if err := os.WriteFile(file, []byte("       3       12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []Flight
	synctest.Test(t, func(t *testing.T) {
		w := Watch(file, 50*time.Millisecond)
		time.Sleep(time.Second + 10*time.Millisecond)
		seen = w.Stop()
	})
	if len(seen) != 20 {
		t.Fatalf("it looked %d times in a second", len(seen))
	}
	for i, f := range seen {
		if f.Reads != 3 || f.Writes != 12 || i > 0 && f.Monotonic <= seen[i-1].Monotonic {
			t.Errorf("%+v", f)
		}
	}
	if none := Watch(file+"-not-there", time.Millisecond).Stop(); len(none) != 0 {
		t.Errorf("%+v", none)
	}
}
