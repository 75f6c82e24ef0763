package series

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/renameio/v2"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/kernels"
	"spindle/kernels/tree"
)

// Source says where a series is. Exactly one of its fields is set.
type Source struct {
	Mbox  string // an mbox, packed or not, a directory of patches, a quilt series
	Range string // A..B in the repository of the base
	B4    string // a message id, or lore's address of it
}

// Validate looks for what names no series.
func (s Source) Validate() error {
	n := 0
	for _, x := range []string{s.Mbox, s.Range, s.B4} {
		if x != "" {
			n++
		}
	}
	switch {
	case n != 1:
		return fault.Planf("series: want one of --mbox FILE, --range A..B and --b4 MESSAGE-ID")
	case s.Range != "" && !tree.IsRange(s.Range):
		return fault.Planf("series: --range %s: want two commits with two dots between, such as v6.12..wbt-v5", s.Range)
	case strings.HasPrefix(s.B4, "-") || strings.ContainsAny(s.B4, " \t\n\x00"):
		return fault.Planf("series: --b4 %q: want a message id, such as 20261130.123456-1-ada@example.org, or its address on lore.kernel.org", s.B4)
	}
	return nil
}

// String gives the source as people know it.
func (s Source) String() string {
	switch {
	case s.B4 != "":
		return "b4 " + s.B4
	case s.Range != "":
		return s.Range
	}
	return filepath.Base(s.Mbox)
}

// Names of files in a series' directory.
const (
	mboxFile    = "series.mbox"
	appliedFile = "applied.mbox"
)

// fetch brings the series into dir and gives the headers of its mails, as far as
// it came in mails.
func (s Source) fetch(ctx context.Context, dir string) ([]letter, error) {
	switch {
	case s.B4 != "":
		return s.b4(ctx, dir)
	case s.Range != "":
		return nil, nil // its patches come from the repository
	}
	info, err := os.Stat(s.Mbox)
	if err != nil {
		return nil, fault.Planf("read series: %w", err)
	}
	if info.IsDir() || filepath.Base(s.Mbox) == "series" {
		return directoryLetters(s.Mbox), nil
	}
	text, err := os.ReadFile(s.Mbox)
	if err != nil {
		return nil, fault.Planf("read series: %w", err)
	}
	return letters(text), nil
}

// directoryLetters reads the headers of the mails in a directory, such as git
// format-patch makes. Its cover letter has no patch and is a mail all the same.
func directoryLetters(dir string) []letter {
	names, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is well formed
	var out []letter
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 16<<20 {
			continue
		}
		if text, err := os.ReadFile(name); err == nil {
			out = append(out, letters(text)...)
		}
	}
	return out
}

// b4 has b4 bring the series. It prefers the newest version of the thread, drops
// replies, and puts the cover letter into a file of its own.
func (s Source) b4(ctx context.Context, dir string) ([]letter, error) {
	temp, remove, err := proc.TempDir(ctx, dir, "b4")
	if err != nil {
		return nil, err
	}
	defer remove()
	// Trailers of reviewers would make other commits of the same patches, and
	// those other builds.
	out, err := proc.Run(ctx, proc.Cmd{Path: "b4", Args: []string{"am", "--no-add-trailers", "--mbox-name", "series", "--outdir", temp, s.B4}})
	if err != nil {
		var failed *proc.Error
		if ctx.Err() == nil && errors.As(err, &failed) && failed.ExitCode > 0 {
			return nil, &fault.Error{Kind: fault.Machinery, Reason: "b4", Err: fmt.Errorf("fetch series %s: %w", s.B4, err),
				Hint: "b4 needs to reach lore.kernel.org; b4 mbox elsewhere, and --mbox with what it wrote, does without"}
		}
		return nil, fmt.Errorf("fetch series %s: %w", s.B4, err)
	}
	text, err := os.ReadFile(filepath.Join(temp, "series.mbx"))
	if err != nil {
		said := strings.TrimSpace(string(out.Stderr))
		return nil, fault.Planf("fetch series %s: b4 found no patches: %s", s.B4, lastLine(said))
	}
	if err := put(filepath.Join(dir, mboxFile), text); err != nil {
		return nil, err
	}
	ls := letters(text)
	if c, err := os.ReadFile(filepath.Join(temp, "series.cover")); err == nil {
		if l, ok := readLetter(c); ok {
			ls = append([]letter{l}, ls...)
		}
	}
	return ls, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// on gives the base with the series on top, before it is kept: where the
// patches are read from.
func (s Source) on(base kernels.Source, dir string) (kernels.Source, error) {
	switch {
	case s.Range != "":
		if base.Git == "" && base.Tree == "" {
			return base, fault.Planf("series: --range %s: the base is %s, which is no repository: give the patches with --mbox", s.Range, base)
		}
		base.Series = s.Range
		return base, nil
	case s.B4 != "":
		base.Series = filepath.Join(dir, mboxFile)
		return base, nil
	}
	abs, err := filepath.Abs(s.Mbox)
	if err != nil {
		return base, err
	}
	base.Series = abs
	return base, nil
}

// mbox writes patches as an mbox that [tree.Env.Mails] reads as they were.
func mbox(mails []tree.Mail) ([]byte, error) {
	var b bytes.Buffer
	for _, m := range mails {
		if m.Level != 1 {
			return nil, fault.Planf("series: %s is applied with -p%d, which an mbox cannot say: make it one with git am and git format-patch", m.Name, m.Level)
		}
		text := bytes.ReplaceAll(m.Text, []byte("\r\n"), []byte("\n"))
		first, rest, _ := bytes.Cut(text, []byte("\n"))
		quote := false
		if !fromLine.Match(append(bytes.Clone(first), '\n')) {
			first, rest, quote = []byte("From git@z Thu Jan  1 00:00:00 1970"), text, true
		}
		if quote {
			rest = separators.ReplaceAll(rest, []byte(">$0"))
		}
		b.Write(first)
		b.WriteByte('\n')
		b.Write(bytes.TrimRight(rest, "\n"))
		b.WriteString("\n\n")
	}
	return b.Bytes(), nil
}

// separators are lines that a reader of an mbox would take for the next mail.
var separators = regexp.MustCompile(`(?m)^>*From `)

func put(path string, data []byte) error {
	if err := renameio.WriteFile(path, data, 0o644, renameio.WithTempDir(filepath.Dir(path))); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
