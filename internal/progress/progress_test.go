package progress

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStatusOffATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(&out, false, time.Now)
		for i := range 25 { // one a second: lines at 0, 10 and 20 s
			l.Status(i, 25, time.Duration(25-i)*time.Minute, "sata ext4")
			time.Sleep(time.Second)
		}
		l.Printf("done")
		l.Clear()
		want := "[0/25] sata ext4, 25m left\n[10/25] sata ext4, 15m left\n[20/25] sata ext4, 5m left\ndone\n"
		if d := cmp.Diff(want, out.String()); d != "" {
			t.Error(d)
		}
	})
}

func TestStatusOnATerminal(t *testing.T) {
	var out bytes.Buffer
	l := New(&out, true, time.Now)
	l.Status(1, 2, 0, "boot")
	l.Status(1, 2, 0, "boot") // the same again: nothing to draw
	l.Printf("a line\n")
	l.Status(0, 0, 50*time.Second, "mkfs")
	l.Clear()
	l.Clear()
	l.Printf("end")
	want := "\r\x1b[K[1/2] boot" + "\r\x1b[Ka line\n[1/2] boot" + "\r\x1b[Kmkfs, 50s left" + "\r\x1b[K" + "end\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

func TestStatusFitsTheLine(t *testing.T) {
	var out bytes.Buffer
	New(&out, true, time.Now).Status(0, 0, 0, "%s", strings.Repeat("é", 200))
	got := strings.TrimPrefix(out.String(), erase)
	if n := len([]rune(got)); n != 79 || !strings.HasSuffix(got, "é...") {
		t.Errorf("%d columns: %q", n, got)
	}
}

func TestControlCharactersDoNotReachTheTerminal(t *testing.T) {
	var out bytes.Buffer
	l := New(&out, false, time.Now)
	l.Printf("guest said \x1b]0;x\x07\r\u009b1m\x7f:\n\tkept")
	l.Status(0, 0, 0, "two\nlines")
	want := "guest said  ]0;x   1m :\n\tkept\ntwo lines\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

func TestNilIsSilentAndManyMayWrite(t *testing.T) {
	var l *Log
	l.Printf("x")
	l.Status(1, 2, 3, "x")
	l.Clear()

	var out bytes.Buffer
	l = New(&out, true, time.Now)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for i := range 100 {
				l.Status(i, 100, 0, "x")
				l.Printf("line")
			}
			l.Clear()
		})
	}
	wg.Wait()
	if n := strings.Count(out.String(), "line\n"); n != 1000 {
		t.Errorf("%d lines, want 1000", n)
	}
}

func TestAbout(t *testing.T) {
	for d, want := range map[time.Duration]string{
		400 * time.Millisecond:          "0s",
		50 * time.Second:                "50s",
		99*time.Second + 600e6:          "100s",
		100 * time.Second:               "2m",
		42 * time.Minute:                "42m",
		59*time.Minute + 40*time.Second: "1h00m",
		125 * time.Minute:               "2h05m",
		49 * time.Hour:                  "49h00m",
	} {
		if got := About(d); got != want {
			t.Errorf("About(%v) = %q, want %q", d, got, want)
		}
	}
}
