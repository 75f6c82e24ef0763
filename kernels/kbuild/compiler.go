package kbuild

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// Compiler is a C compiler of this host.
type Compiler struct {
	Path    string
	Kind    string // gcc or clang
	Version Version
	Text    string // the first line of what it says of itself
}

// Version is that of a compiler or kernel: major, minor, patch.
type Version [3]int

// Before says whether v is older than w.
func (v Version) Before(w Version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

// String leaves a patch level of zero out.
func (v Version) String() string {
	if v[2] == 0 {
		return fmt.Sprintf("%d.%d", v[0], v[1])
	}
	return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
}

var versionForm = regexp.MustCompile(`\b(\d+)\.(\d+)(?:\.(\d+))?`)

// ParseVersion finds the first version in a text.
func ParseVersion(s string) (Version, bool) {
	m := versionForm.FindStringSubmatch(s)
	if m == nil {
		return Version{}, false
	}
	var v Version
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1])
	}
	return v, true
}

// FindCompiler asks a compiler who it is; "" is gcc.
func FindCompiler(ctx context.Context, name string) (Compiler, error) {
	if name == "" {
		name = "gcc"
	}
	path, err := proc.LookPath(name)
	if err != nil {
		return Compiler{}, &fault.Error{Kind: fault.Machinery, Reason: "compiler", Err: fmt.Errorf("find compiler: %w", err),
			Hint: "spindle doctor --install installs gcc and what else kernels are built with; clang is a package of its own"}
	}
	if path, err = filepath.Abs(path); err != nil {
		return Compiler{}, err
	}
	out, err := proc.Run(ctx, proc.Cmd{Path: path, Args: []string{"--version"}, Setenv: []string{"LC_ALL=C"}})
	if err != nil {
		return Compiler{}, fmt.Errorf("ask compiler %s for its version: %w", name, err)
	}
	line, _, _ := strings.Cut(string(out.Stdout), "\n")
	c := Compiler{Path: path, Kind: "gcc", Text: strings.TrimSpace(line)}
	text := c.Text
	known := true
	switch _, rest, ok := strings.Cut(text, ") "); {
	case strings.Contains(line, "clang"):
		c.Kind = "clang"
	case !strings.Contains(string(out.Stdout), "Free Software Foundation"):
		known = false
	case ok:
		text = rest // gcc (Debian 12.2.0-14+deb12u1) 12.2.0
	}
	var ok bool
	if c.Version, ok = ParseVersion(text); !ok || !known {
		return Compiler{}, fault.Planf("cc %s: it says that it is %q, which is neither gcc nor clang", name, line)
	}
	return c, nil
}

// tools are the programs besides the compiler whose version can change a
// build's bytes or configuration.
var tools = []string{"ld", "as", "pahole", "rustc"}

// Tools gives what they say of themselves, sorted by name; one that is not there
// is "none".
func Tools(ctx context.Context) []string {
	var out []string
	for _, name := range tools {
		said := "none"
		if path, err := proc.LookPath(name); err == nil {
			if o, err := proc.Run(ctx, proc.Cmd{Path: path, Args: []string{"--version"}, Setenv: []string{"LC_ALL=C"}}); err == nil {
				said, _, _ = strings.Cut(string(o.Stdout), "\n")
			}
		}
		out = append(out, name+": "+said)
	}
	return out
}

// needed are the programs without which no kernel is built.
var needed = []string{"make", "flex", "bison", "bc", "ld", "perl", "gzip"}

// checkHost says which of them are missing, all at once.
func checkHost() error {
	var missing []string
	for _, name := range needed {
		if _, err := proc.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Machinery, Reason: "tools", Err: fmt.Errorf("build kernel: this host has no %s", strings.Join(missing, ", ")),
		Hint: "run: spindle doctor --install"}
}
