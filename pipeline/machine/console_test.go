package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// run drains r and gives the lines seen and the log.
func run(t testing.TB, r io.Reader) (lines []string, log string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), ConsoleLog))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := &console{file: f, most: longestLog, see: func(n int, line string) {
		lines = append(lines, line)
		if n != len(lines) {
			t.Errorf("line %q has number %d, want %d", line, n, len(lines))
		}
	}}
	c.drain(r)
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return lines, string(b)
}

func TestConsole(t *testing.T) {
	long := strings.Repeat("y", 3*longestLine)
	in := "one\r\n\r\nthree\n" + long + "\r\nno end"
	want := []string{"one", "", "three", long[:longestLine], "no end"}
	for name, r := range map[string]io.Reader{
		"at once":       strings.NewReader(in),
		"byte by byte":  iotest.OneByteReader(strings.NewReader(in)),
		"ends in error": iotest.DataErrReader(io.MultiReader(strings.NewReader(in), iotest.ErrReader(errors.New("reset")))),
	} {
		lines, log := run(t, r)
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("%s: lines (-want +got):\n%s", name, diff)
		}
		if log != strings.ReplaceAll(in, "\r", "") {
			t.Errorf("%s: log %.100q", name, log)
		}
	}
}

// A line's number is that of the log, however the bytes come.
func FuzzConsole(f *testing.F) {
	f.Add([]byte("one\r\ntwo\n"), uint8(1))
	f.Add([]byte("\n\n\r\r\nBUG: \x1b[2J\xff"), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		got, log := run(t, &steps{in, int(step) + 1})
		want := strings.SplitAfter(log, "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		for i, line := range want {
			line = strings.TrimSuffix(line, "\n")
			want[i] = line[:min(len(line), longestLine)]
		}
		if !cmp.Equal(want, got) && len(want)+len(got) > 0 {
			t.Errorf("lines %q, want %q", got, want)
		}
		for _, line := range got {
			if r, ok := find(unstamped(line)); ok && r == "" {
				t.Errorf("%q: found without a reason", line)
			}
		}
	})
}

type steps struct {
	rest []byte
	n    int
}

func (s *steps) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.rest[:min(s.n, len(s.rest))])
	s.rest = s.rest[n:]
	return n, nil
}

// A log that cannot be written does not stop the reading.
func TestConsoleFullDisk(t *testing.T) {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	n := 0
	c := &console{file: f, most: longestLog, see: func(int, string) { n++ }}
	c.drain(iotest.OneByteReader(strings.NewReader("one\ntwo\n")))
	if n != 2 {
		t.Errorf("%d lines seen, want 2", n)
	}
	if _, _, err := c.state(); err == nil {
		t.Error("no error is told")
	}
}

// A console without end does not fill the disk, and is still looked at.
func TestConsoleTooLong(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), ConsoleLog))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	c := &console{file: f, most: 10, see: func(int, string) { n++ }}
	c.drain(iotest.OneByteReader(strings.NewReader("line 1\nline 2\nline 3\n")))
	got, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if want := "line 1\nlin\n[the log ends here, the console went on]\n"; string(got) != want || n != 3 {
		t.Errorf("log %q, %d lines seen, want %q and 3", got, n, want)
	}
}

// Somebody who watches and stops reading holds up nothing, and sees where
// something is missing.
func TestRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown bytes.Buffer
		gate := make(chan struct{})
		r := newRelay(writerFunc(func(p []byte) (int, error) {
			<-gate
			return shown.Write(p)
		}))
		for i := range 1000 {
			fmt.Fprintf(r, "line %03d\n", i)
		}
		close(gate)
		synctest.Wait()
		fmt.Fprint(r, "the end\n")
		r.close(time.Second)
		got := shown.String()
		if !strings.HasPrefix(got, "line 000\nline 001\n") || !strings.HasSuffix(got, "\nthe end\n") {
			t.Errorf("shown: %.40q...%q", got, got[len(got)-100:])
		}
		// One note, or more where the reader came by in between.
		lost, notes := 0, strings.Split(got, "\n[")[1:]
		for _, note := range notes {
			var n int
			if _, err := fmt.Sscanf(note, "%d bytes of console left out here", &n); err != nil {
				t.Fatalf("a note of what is missing: %v in %.80q", err, note)
			}
			lost += n
		}
		if len(notes) == 0 {
			t.Error("no note of what is missing")
		}
		if lines := strings.Count(got, "line "); lost+lines*9 != 9000 {
			t.Errorf("%d bytes said to be missing and %d lines shown, of 9000 bytes", lost, lines)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestExcerpt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var log strings.Builder
	for i := 1; i <= 100; i++ {
		fmt.Fprintf(&log, "line %d\n", i)
	}
	log.WriteString("last" + strings.Repeat("x", 1000))
	if err := os.WriteFile(path, []byte(log.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		from        int
		first, last string
	}{
		{0, "line 62", "last" + strings.Repeat("x", 396) + "..."},
		{50, "line 45", "line 84"},
		{1, "line 1", "line 40"},
		{99, "line 94", "last" + strings.Repeat("x", 396) + "..."},
		{1000, "", ""},
	}
	for _, test := range tests {
		lines := strings.Split(excerpt(path, test.from), "\n")
		if lines[0] != test.first || lines[len(lines)-1] != test.last {
			t.Errorf("from %d: %q to %q, want %q to %q", test.from, lines[0], lines[len(lines)-1], test.first, test.last)
		}
	}
	if got := excerpt(filepath.Join(t.TempDir(), "none"), 0); got != "" {
		t.Errorf("of no file: %q", got)
	}
}
