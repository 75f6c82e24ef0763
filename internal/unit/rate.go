package unit

import (
	"fmt"
	"math"
	"strconv"
)

// Rate is a number of bytes per second.
type Rate float64

// ParseRate reads a rate such as "120MB/s" or "1.5GiB/s": the units of
// ParseSize, each followed by "/s". The result is the nearest float64.
func ParseRate(s string) (Rate, error) {
	v, err := parse(s, "/s")
	if err != nil {
		return 0, fmt.Errorf("rate %q: %w", clip(s), err)
	}
	f, _ := v.Float64()
	if math.IsInf(f, 0) {
		return 0, fmt.Errorf("rate %q: too large", clip(s))
	}
	return Rate(f), nil
}

// String gives the shortest text that ParseRate reads back as the same value,
// for example "120MB/s". A negative, infinite or undefined rate prints, but
// cannot be read back.
func (r Rate) String() string {
	if r == 0 {
		return "0"
	}
	best := strconv.FormatFloat(float64(r), 'f', -1, 64) + "B/s"
	if r.check() != nil {
		return best
	}
	for _, u := range units[1:] {
		text := strconv.FormatFloat(float64(r)/float64(u.bytes), 'f', -1, 64) + u.name + "/s"
		if len(text) > len(best) {
			continue
		}
		// The division above rounds; keep the text only if it did not matter.
		if back, err := ParseRate(text); err == nil && back == r {
			best = text
		}
	}
	return best
}

func (r Rate) check() error {
	if f := float64(r); math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return fmt.Errorf("write rate %g: not a rate", f)
	}
	return nil
}

// MarshalText gives String; it fails for what could not be read back.
func (r Rate) MarshalText() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads what ParseRate reads.
func (r *Rate) UnmarshalText(text []byte) error {
	v, err := ParseRate(string(text))
	if err == nil {
		*r = v
	}
	return err
}
