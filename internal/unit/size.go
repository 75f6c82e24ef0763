package unit

import (
	"fmt"
	"strconv"
)

// Size is a number of bytes.
type Size int64

// Sizes for use in code, as in 64*unit.KiB.
const (
	B   Size = 1
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
)

// ParseSize reads a size such as "10000MiB" or "1.5GB". The units are B, kB,
// MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024); there is
// no space between number and unit. The result is a whole number of bytes from
// 0 to 2⁶³-1.
func ParseSize(s string) (Size, error) {
	v, err := parse(s, "")
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", clip(s), err)
	}
	if !v.IsInt() {
		return 0, fmt.Errorf("size %q: not a whole number of bytes", clip(s))
	}
	if !v.Num().IsInt64() {
		return 0, fmt.Errorf("size %q: more than 2^63-1 bytes", clip(s))
	}
	return Size(v.Num().Int64()), nil
}

// String gives the shortest exact text in whole units, for example "10000MiB",
// "4GB" or "4097B". ParseSize reads it back, except for a negative size, which
// only a difference can be.
func (s Size) String() string {
	if s == 0 {
		return "0"
	}
	best := ""
	for _, u := range units {
		if int64(s)%u.bytes == 0 {
			text := strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
			if best == "" || len(text) <= len(best) {
				best = text
			}
		}
	}
	return best
}

// Near gives the size as people say it: exactly where that is short ("96MiB",
// "500GB"), else rounded to four digits ("500.1GB"). It is for messages only.
func (s Size) Near() string {
	if text := s.String(); len(text) <= 8 {
		return text
	}
	for i := len(units) - 1; i >= 0; i-- {
		if u := units[i]; u.bytes%1000 == 0 && int64(s) >= u.bytes {
			return strconv.FormatFloat(float64(s)/float64(u.bytes), 'g', 4, 64) + u.name
		}
	}
	return s.String()
}

// MarshalText gives String; it fails for a negative size, which could not be
// read back.
func (s Size) MarshalText() ([]byte, error) {
	if s < 0 {
		return nil, fmt.Errorf("write size %d: negative", int64(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads what ParseSize reads.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := ParseSize(string(text))
	if err == nil {
		*s = v
	}
	return err
}

// clip keeps an error readable when the text it quotes is not.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
