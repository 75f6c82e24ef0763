package kconfig

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Config is a kernel's configuration: "y", "m", "n" or a text, by symbols with
// their CONFIG_. A symbol that is not set is "n" or not there.
type Config map[string]string

// Has says whether a symbol is set to y or m. The CONFIG_ before it may be
// left out.
func (c Config) Has(symbol string) bool {
	v := c.Value(symbol)
	return v == "y" || v == "m"
}

// Value gives what a symbol is set to, strings without their quotes, or "".
func (c Config) Value(symbol string) string {
	if !strings.HasPrefix(symbol, "CONFIG_") {
		symbol = "CONFIG_" + symbol
	}
	return c[symbol]
}

var (
	configSet   = regexp.MustCompile(`^(CONFIG_[A-Za-z0-9_]+)=(.*)$`)
	configUnset = regexp.MustCompile(`^# (CONFIG_[A-Za-z0-9_]+) is not set$`)
)

// Parse reads a .config as Kconfig writes it (scripts/kconfig/confdata.c).
// Lines of other forms are errors, except comments.
func Parse(r io.Reader) (Config, error) {
	c := make(Config)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), " \t\r")
		if m := configUnset.FindStringSubmatch(line); m != nil {
			c[m[1]] = "n"
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := configSet.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d: want CONFIG_NAME=VALUE, not %.80q", n, line)
		}
		value := m[2]
		if strings.HasPrefix(value, `"`) {
			text, ok := unquote(value)
			if !ok {
				return nil, fmt.Errorf("line %d: %s: the string has no end, or more behind it", n, m[1])
			}
			value = text
		}
		c[m[1]] = value
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// unquote reads a string of Kconfig's, where a backslash makes the next
// character an ordinary one.
func unquote(s string) (string, bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), i == len(s)-1
		case '\\':
			if i++; i == len(s) {
				return "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", false
}
