package unit

import (
	"encoding"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"0":                     0,
		"0B":                    0,
		"1B":                    1,
		"4kB":                   4_000,
		"4KiB":                  4_096,
		"4MB":                   4_000_000,
		"4MiB":                  4_194_304,
		"4GB":                   4_000_000_000,
		"4GiB":                  4_294_967_296,
		"4TB":                   4_000_000_000_000,
		"4TiB":                  4_398_046_511_104,
		"10000MiB":              10_485_760_000,
		"1.5GB":                 1_500_000_000,
		"1.5KiB":                1_536,
		"0.001kB":               1,
		"007B":                  7,
		"9223372036854775807B":  math.MaxInt64,
		"8388607.9990234375TiB": 8388608<<40 - 1<<30, // 2^63 - 2^30
	} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseSizeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "write a number and a unit: B, kB, KiB, MB",
		"4096":                         "no unit; write one of B, kB, KiB, MB, MiB, GB, GiB, TB, TiB",
		"00":                           "no unit",
		"512k":                         `unknown unit "k"; write one of B`,
		"4gb":                          `unknown unit "gb"`,
		"4KB":                          `unknown unit "KB"`,
		"4kiB":                         `unknown unit "kiB"`,
		"4 GB":                         `unknown unit " GB"`,
		"4GB ":                         `unknown unit "GB "`,
		"4GB/s":                        `unknown unit "GB/s"`,
		"1e3MB":                        `unknown unit "e3MB"`,
		"0x10B":                        `unknown unit "x10B"`,
		"٤GB":                          "does not start with a decimal number",
		"GB":                           "does not start with a decimal number",
		".5GB":                         "does not start with a decimal number",
		"5.GB":                         "does not start with a decimal number",
		"1.2.3GB":                      "does not start with a decimal number",
		"+1GB":                         "does not start with a decimal number",
		"-1GB":                         "negative",
		"1.5B":                         "not a whole number of bytes",
		"0.0001kB":                     "not a whole number of bytes",
		"9223372036854775808B":         "more than 2^63-1 bytes",
		"8388608TiB":                   "more than 2^63-1 bytes",
		strings.Repeat("1", 401) + "B": "402 characters long",
	} {
		got, err := ParseSize(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSize(%q) = %d, %v; want an error with %q", text, got, err, want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "size ") {
			t.Errorf("ParseSize(%q): %v: does not name its object", text, err)
		}
	}
}

func TestSizeString(t *testing.T) {
	for size, want := range map[Size]string{
		0:               "0",
		1:               "1B",
		1000:            "1kB",
		1024:            "1KiB",
		4097:            "4097B",
		4 * GiB:         "4GiB",
		4_000_000_000:   "4GB",
		10000 * MiB:     "10000MiB",
		1_024_000:       "1024kB", // shorter than 1000KiB by one
		-4 * KiB:        "-4KiB",
		math.MaxInt64:   "9223372036854775807B",
		96 * MiB:        "96MiB",
		500_000_000_000: "500GB",
	} {
		if got := size.String(); got != want {
			t.Errorf("Size(%d) = %q, want %q", int64(size), got, want)
		}
	}
}

func TestRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"0":         0,
		"120MB/s":   120e6,
		"1.5GiB/s":  1.5 * (1 << 30),
		"0.5B/s":    0.5,
		"0.1MB/s":   1e5,
		"33.3kB/s":  33300,
		"100TB/s":   1e14,
		"133.3MB/s": 133.3e6,
	} {
		got, err := ParseRate(text)
		if err != nil || got != want {
			t.Errorf("ParseRate(%q) = %g, %v; want %g", text, float64(got), err, float64(want))
		}
		if back := got.String(); len(back) > len(text) {
			t.Errorf("Rate(%g) = %q, longer than %q", float64(got), back, text)
		}
	}
	for text, want := range map[string]string{
		"120MB":                                `unknown unit "MB"; write one of B, kB, KiB, MB, MiB, GB, GiB, TB, TiB, each followed by /s`,
		"120":                                  "no unit",
		"120MBps":                              "unknown unit",
		"-1MB/s":                               "negative",
		"NaNB/s":                               "does not start",
		"9" + strings.Repeat("0", 320) + "B/s": "too large",
	} {
		got, err := ParseRate(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRate(%q) = %g, %v; want an error with %q", text, float64(got), err, want)
		}
	}
	for _, r := range []Rate{Rate(math.NaN()), Rate(math.Inf(1)), -1} {
		if text, err := r.MarshalText(); err == nil {
			t.Errorf("MarshalText of %g = %q, want an error", float64(r), text)
		}
		_ = r.String() // must not panic or loop
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "75ms": 75 * time.Millisecond, "1m30s": 90 * time.Second, "2h": 2 * time.Hour, "1.5h": 90 * time.Minute,
	} {
		got, err := ParseDuration(text)
		if err != nil || got.Std() != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "75", "-1s", "1d", "s", "1 s", "9999999h"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", text, got)
		}
	}
	for d, want := range map[time.Duration]string{
		0:                             "0s",
		time.Hour:                     "1h",
		time.Hour + time.Second:       "1h0m1s",
		10 * time.Minute:              "10m",
		100 * time.Minute:             "1h40m",
		20 * time.Hour:                "20h",
		1500 * time.Microsecond:       "1.5ms",
		10 * time.Second:              "10s",
		time.Hour + time.Millisecond:  "1h0m0.001s",
		time.Minute + 10*time.Second:  "1m10s",
		30*time.Hour + 10*time.Minute: "30h10m",
	} {
		if got := Duration(d).String(); got != want {
			t.Errorf("Duration(%s) = %q, want %q", d, got, want)
		}
	}
}

// A plan file reaches the types through encoding.TextUnmarshaler.
func TestYAML(t *testing.T) {
	type plan struct {
		Size  Size     `yaml:"size"`
		Rate  Rate     `yaml:"rate"`
		After Duration `yaml:"after"`
	}
	var got plan
	err := yaml.UnmarshalWithOptions([]byte("size: 96MiB\nrate: 120MB/s\nafter: 1m30s\n"), &got, yaml.Strict())
	want := plan{96 * MiB, 120e6, Duration(90 * time.Second)}
	if err != nil || got != want {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
	out, err := yaml.Marshal(got)
	if err != nil || string(out) != "size: 96MiB\nrate: 120MB/s\nafter: 1m30s\n" {
		t.Errorf("written as %q, %v", out, err)
	}
	for _, text := range []string{"size: 4096", "size: 4gb", "rate: 120MB", "after: 90", "size: [1MB]", "size: -1B"} {
		err := yaml.UnmarshalWithOptions([]byte(text), &plan{}, yaml.Strict())
		if err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	if err := yaml.Unmarshal([]byte("size: 0"), &got); err != nil || got.Size != 0 {
		t.Errorf("size: 0 gives %v, %v", got.Size, err)
	}
}

type text interface {
	encoding.TextMarshaler
	fmt.Stringer
}

// roundTrip checks that what is written is read back as the same value.
func roundTrip[T text](t *testing.T, v T, parse func(string) (T, error)) {
	t.Helper()
	written, err := v.MarshalText()
	if err != nil {
		t.Fatalf("%v: %v", v, err)
	}
	back, err := parse(string(written))
	if err != nil || fmt.Sprint(back) != fmt.Sprint(v) || any(back) != any(v) {
		t.Fatalf("%v written as %q is read back as %v, %v", v, written, back, err)
	}
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"0", "4GB", "1.5KiB", "9223372036854775807B", "-1B", "0.1B", "1e9kB", "1..MB", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseSize(s)
		if err != nil {
			return
		}
		if v < 0 {
			t.Fatalf("ParseSize(%q) = %d", s, int64(v))
		}
		roundTrip(t, v, ParseSize)
	})
}

func FuzzSizeRoundTrip(f *testing.F) {
	for _, n := range []int64{0, 1, 999, 1000, 1024, 1 << 40, 1e12, math.MaxInt64} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		if n < 0 {
			if _, err := Size(n).MarshalText(); err == nil {
				t.Fatal("a negative size was written")
			}
			return
		}
		roundTrip(t, Size(n), ParseSize)
	})
}

func FuzzRateRoundTrip(f *testing.F) {
	for _, r := range []float64{0, 1, 0.1, 120e6, 1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64, 1e22, 1e23} {
		f.Add(r)
	}
	f.Fuzz(func(t *testing.T, r float64) {
		if Rate(r).check() == nil && (r != 0 || !math.Signbit(r)) {
			roundTrip(t, Rate(r), ParseRate)
		}
	})
}

func FuzzDurationRoundTrip(f *testing.F) {
	for _, d := range []int64{0, 1, 1e9, 3600e9, 60e9, math.MaxInt64} {
		f.Add(d)
	}
	f.Fuzz(func(t *testing.T, d int64) {
		if d >= 0 {
			roundTrip(t, Duration(d), ParseDuration)
		}
	})
}

func TestNear(t *testing.T) {
	for _, tc := range []struct {
		size Size
		want string
	}{
		{0, "0"}, {16 * MiB, "16MiB"}, {10000 * MiB, "10000MiB"}, {2 * TiB, "2TiB"}, {500e9, "500GB"},
		{500_107_862_016, "500.1GB"}, {16<<20 + 1, "16.78MB"}, {1<<20 + 1, "1048577B"}, {1<<62 + 1, "4.612e+06TB"},
	} {
		if got := tc.size.Near(); got != tc.want {
			t.Errorf("%d: %s, want %s", int64(tc.size), got, tc.want)
		}
	}
}

func TestDurationOutOfRange(t *testing.T) {
	_, err := ParseDuration("99999999h")
	if err == nil || !strings.Contains(err.Error(), "longer than 2562047h") {
		t.Errorf("error %v", err)
	}
	for _, text := range []string{"1", "1d", "h", "", "99999999999999999999"} {
		if _, err := ParseDuration(text); err == nil || !strings.Contains(err.Error(), "write numbers with units") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
