package bisect

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/reports/record"
)

func fixedClock() time.Time { return time.Unix(1700000000, 0) }

func someStart() Start {
	return Start{Good: "aaaa", Bad: "bbbb", Metric: record.MetricInfo{Name: "runtime"}, Manifest: &record.Manifest{}}
}

// A log holds what was added, whatever a crash left behind it.
func TestLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	l, err := CreateLog(dir, fixedClock, someStart())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []entry{
		{Kernel: &Kernel{Commit: "aaaa", Alike: "1"}},
		{Sample: &Sample{Commit: "aaaa", Block: 1, Value: 90, Phase: phaseEnds}},
		{Kernel: &Kernel{Commit: "cccc", Alike: "1"}},
		{Skip: &Skip{Commit: "dddd", Reason: "build"}},
	} {
		if err := l.add(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := OpenLog(dir, fixedClock); fault.Of(err) != fault.Plan {
		t.Errorf("a second writer: %v", err)
	}
	l.Close()
	file := filepath.Join(dir, logFile)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < 40; cut += 7 {
		if err := os.WriteFile(file, append(whole[:len(whole):len(whole)], `{"at":"2026-11-30T10:00:00Z","sample":{"commit"`[:cut]...), 0o644); err != nil {
			t.Fatal(err)
		}
		l, s, err := OpenLog(dir, fixedClock)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Samples) != 1 || s.count("cccc") != 1 || s.twin("cccc") != "aaaa" || s.Skips["dddd"].Reason != "build" {
			t.Errorf("after %d bytes of a line: %+v", cut, s)
		}
		l.Close()
		if now, err := os.ReadFile(file); err != nil || string(now) != string(whole) {
			t.Errorf("after %d bytes of a line the log has %d bytes, want %d", cut, len(now), len(whole))
		}
	}
	if _, err := CreateLog(dir, fixedClock, someStart()); fault.Of(err) != fault.Plan || !strings.Contains(fault.Hint(err), "--resume") {
		t.Errorf("a second bisection in its directory: %v", err)
	}
}

func TestLogDamaged(t *testing.T) {
	start := `{"start":{"format":1,"manifest":{}}}` + "\n"
	for name, test := range map[string]struct{ text, want string }{
		"empty":     {"", "empty"},
		"beginning": {`{"kernel":{"commit":"a","alike":"1"}}` + "\n", "bisect.jsonl:1"},
		"format":    {`{"start":{"format":9,"manifest":{}}}` + "\n", "number 9"},
		"twice":     {start + start, "bisect.jsonl:2: a second beginning"},
		"words":     {start + "no\n" + start, "bisect.jsonl:2"},
		"kernel":    {start + `{"sample":{"commit":"a","block":1,"value":1}}` + "\n", "kernel was not made"},
		"value":     {start + `{"kernel":{"commit":"a","alike":"1"}}` + "\n" + `{"sample":{"commit":"a","block":1,"value":-1}}` + "\n", "value -1"},
	} {
		if _, _, err := replay([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoLog(t *testing.T) {
	if _, _, err := OpenLog(t.TempDir(), fixedClock); fault.Of(err) != fault.Plan || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte(`{"start":{"format":1,"manifest":{}}}` + "\n" + `{"kernel":{"commit":"a","alike":"1"}}` + "\n" + `{"sample":{"commit":"a","block":1,"value":1}}` + "\n"))
	f.Add([]byte(`{"start":{"format":1,"manifest":{}}}` + "\n" + `{"skip":{"commit":"a"}}` + "\n" + `{"end":{"line":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, whole, err := replay(text)
		if err != nil {
			return
		}
		if whole > len(text) || whole > 0 && text[whole-1] != '\n' {
			t.Fatalf("%d whole bytes of %d", whole, len(text))
		}
		if again, n, err := replay(text[:whole]); err != nil || n != whole || len(again.Samples) != len(s.Samples) {
			t.Fatalf("read again: %v", err)
		}
	})
}
