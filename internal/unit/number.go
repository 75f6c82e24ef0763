package unit

import (
	"fmt"
	"math/big"
	"strings"
)

// units are the only ones there are, ordered from small to large. Where two
// ways of writing a value are equally short, the later one is taken.
var units = []struct {
	name  string
	bytes int64
}{
	{"B", 1},
	{"kB", 1e3}, {"KiB", 1 << 10},
	{"MB", 1e6}, {"MiB", 1 << 20},
	{"GB", 1e9}, {"GiB", 1 << 30},
	{"TB", 1e12}, {"TiB", 1 << 40},
}

// longest is how many characters a number may have. A float64 needs at most
// 345 in positional notation; anything longer is a mistake, and is refused
// before big.Rat spends time on it.
const longest = 400

func unitNames() string {
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.name
	}
	return strings.Join(names, ", ")
}

// parse reads digits[.digits] followed by a unit and suffix, exactly. The
// text "0" needs no unit: nothing is nothing in all of them.
func parse(s, suffix string) (*big.Rat, error) {
	if s == "" {
		return nil, fmt.Errorf("empty; write a number and a unit: %s", listed(suffix))
	}
	if s == "0" {
		return new(big.Rat), nil
	}
	if len(s) > longest {
		return nil, fmt.Errorf("%d characters long, at most %d make sense", len(s), longest)
	}
	end := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		return nil, fmt.Errorf("no unit; write one of %s", listed(suffix))
	}
	number, name := s[:end], s[end:]
	whole, part, dotted := strings.Cut(number, ".")
	switch {
	case number == "" && name[0] == '-':
		return nil, fmt.Errorf("negative")
	case whole == "", dotted && part == "", strings.Contains(part, "."):
		return nil, fmt.Errorf("does not start with a decimal number such as 4 or 1.5")
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return nil, fmt.Errorf("%q is no decimal number", number)
	}
	for _, u := range units {
		if name == u.name+suffix {
			return value.Mul(value, new(big.Rat).SetInt64(u.bytes)), nil
		}
	}
	return nil, fmt.Errorf("unknown unit %q; write one of %s", name, listed(suffix))
}

func listed(suffix string) string {
	if suffix == "" {
		return unitNames()
	}
	return unitNames() + ", each followed by " + suffix
}
