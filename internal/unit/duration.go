package unit

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Duration is a length of time, written in Go's syntax: "75ms", "1m30s", "2h".
type Duration time.Duration

// durationForm is what a duration looks like. One that has the form and is not
// read is beyond the 2^63-1 ns of a time.Duration.
var durationForm = regexp.MustCompile(`^([0-9]+(\.[0-9]*)?(ns|us|ms|s|m|h))+$`)

// ParseDuration reads a duration that is not negative. Its units are ns, us,
// ms, s, m and h; days are left out because a plan that runs for days should
// say how many hours that is.
func ParseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil && durationForm.MatchString(s):
		return 0, fmt.Errorf("duration %q: longer than 2562047h, which is the longest there is", clip(s))
	case err != nil:
		return 0, fmt.Errorf("duration %q: write numbers with units ns, us, ms, s, m, h, such as 75ms or 1m30s", clip(s))
	case d < 0:
		return 0, fmt.Errorf("duration %q: negative", clip(s))
	}
	return Duration(d), nil
}

// Std gives the duration as the time package knows it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String gives Go's text without units that count nothing: "1h", not "1h0m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText gives String; it fails for a negative duration, which could not
// be read back.
func (d Duration) MarshalText() ([]byte, error) {
	if d < 0 {
		return nil, fmt.Errorf("write duration %s: negative", d)
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads what ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	if err == nil {
		*d = v
	}
	return err
}
