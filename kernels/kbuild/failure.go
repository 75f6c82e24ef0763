package kbuild

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"spindle/internal/fault"
)

// Failure is why a build stopped: the first error of the compiler, or of what
// else the build runs.
type Failure struct {
	File    string // in the source tree; "" if none is named
	Line    int    // 0 if none is named
	Message string
	Lines   []string // the output from a little before, for evidence
	Host    string   // why it is the host's fault; "" if it is the source's
	Hint    string
}

// String gives "mm/page-writeback.c:1012: error: ...".
func (f Failure) String() string {
	switch {
	case f.File == "":
		return f.Message
	case f.Line == 0:
		return f.File + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
}

var (
	compileError = regexp.MustCompile(`^([^\s:][^:]*):(\d+)(?::\d+)?: (?:fatal )?(?:error|Error): ?(.*)$`)
	linkError    = regexp.MustCompile(`^(?:\S*ld(?:\.\w+)?: )?(\S+?\.[coS]|\S+\.a\(\S+\)):?(?:\([^)]*\))?:? ?.*(undefined reference to .*|multiple definition of .*|undefined symbol: .*)$`)
	makeError    = regexp.MustCompile(`^(?:make(?:\[\d+\])?: |\S*Makefile\S*:\d+: )?\*\*\* (.*)$`)
	modpostError = regexp.MustCompile(`^ERROR: modpost: (.*)$`)
	toolError    = regexp.MustCompile(`^(?:/bin/)?(?:sh|bash): (?:line )?\d+: (\S+): (?:not found|command not found)$`)
	makeGaveUp   = regexp.MustCompile(`\[.*\] (?:Error \d+|Interrupt|Terminated|Killed)`)
	breakdown    = regexp.MustCompile(`internal compiler error|Killed signal terminated program|virtual memory exhausted|Cannot allocate memory|out of memory|Segmentation fault`)
	noHeader     = regexp.MustCompile(`^([^\s:]+\.h): No such file or directory|'([^']+\.h)' file not found`)
)

// headers are those that host programs of the build take, by package.
var headers = map[string]string{
	"openssl": "libssl-dev", "libelf.h": "libelf-dev", "gelf.h": "libelf-dev", "elf.h": "libc6-dev", "dwarf.h": "libdw-dev", "ncurses.h": "libncurses-dev",
	"gcc-plugin.h": "gcc-12-plugin-dev", "stdio.h": "libc6-dev",
}

// diagnose reads the output of a failed build. Paths below src and obj lose
// them.
func diagnose(lines []string, src, obj string) (f Failure) {
	defer func() {
		if f.Host == "" {
			f.host(lines)
		}
	}()
	relative := func(path string) string {
		for _, dir := range []string{src, obj} {
			path = strings.TrimPrefix(path, dir+"/")
		}
		for strings.HasPrefix(path, "../") {
			path = path[3:]
		}
		return strings.TrimPrefix(path, "./")
	}
	found := func(i int, file string, line string, message string) Failure {
		n, _ := strconv.Atoi(line)
		return Failure{File: relative(file), Line: n, Message: strings.TrimSpace(message), Lines: around(lines, i)}
	}
	for i, line := range lines {
		if m := compileError.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[1], "make") {
			return found(i, m[1], m[2], "error: "+m[3])
		}
		if m := linkError.FindStringSubmatch(line); m != nil {
			return found(i, strings.TrimSuffix(m[1], ".o"), "", m[2])
		}
		if m := modpostError.FindStringSubmatch(line); m != nil {
			return found(i, "", "", m[1])
		}
		if m := toolError.FindStringSubmatch(line); m != nil {
			f := found(i, "", "", "program "+m[1]+" is not there")
			f.Host, f.Hint = "a program is missing", "install "+m[1]+"; spindle doctor --install knows what kernels are usually built with"
			return f
		}
		if m := makeError.FindStringSubmatch(line); m != nil && !makeGaveUp.MatchString(m[1]) && !strings.HasPrefix(m[1], "Waiting for") {
			return found(i, "", "", m[1])
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.TrimSpace(lines[i]) != "" && !makeError.MatchString(lines[i]) {
			return found(i, "", "", lines[i])
		}
	}
	return Failure{Message: "make failed and said nothing"}
}

// host looks for signs that the source is not to blame.
func (f *Failure) host(lines []string) {
	for _, line := range lines {
		switch {
		case fault.TellsDiskFull(line):
			// The store knows these words and gives the hint.
			f.Host, f.Message = "the disk is full", strings.TrimSpace(line)
			return
		case breakdown.MatchString(line):
			f.Host, f.Message = "the compiler broke down", strings.TrimSpace(line)
			f.Hint = "was memory short (dmesg)? fewer jobs take less; or name another compiler with cc:"
			return
		}
	}
	if !strings.HasPrefix(f.File, "scripts/") && !strings.HasPrefix(f.File, "tools/") && !strings.HasPrefix(f.File, "certs/") && !strings.HasPrefix(f.File, "/usr/") {
		return
	}
	m := noHeader.FindStringSubmatch(strings.TrimPrefix(f.Message, "error: "))
	if m == nil {
		return
	}
	header := m[1] + m[2]
	name, _, _ := strings.Cut(header, "/")
	f.Host = "a header is missing"
	f.Hint = "install the package that has " + header
	if p := headers[name]; p != "" {
		f.Hint += " (on Debian " + p + ")"
	}
}

// around gives a few lines before and after one.
func around(lines []string, i int) []string {
	return lines[max(0, i-3):min(len(lines), i+12)]
}
