package tree

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// temp gives a directory for one step's files.
func (env Env) temp(ctx context.Context) (dir string, remove func() error, err error) {
	parent := filepath.Join(env.Dir, "tmp")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", nil, err
	}
	return proc.TempDir(ctx, parent, "tree")
}

// diffStart is how a patch without a mail around it begins.
var diffStart = regexp.MustCompile(`(?m)^(diff --git |diff -[a-zA-Z]|Index: |--- \S.*\r?\n\+\+\+ \S)`)

// split takes an mbox apart. Text that is nil leaves the reading
// to git, for a maildir.
func (env Env) split(ctx context.Context, path string, text []byte) ([]Mail, error) {
	if loc := diffStart.FindIndex(text); loc != nil && len(bytes.TrimSpace(text[:loc[0]])) == 0 {
		m, ok, err := env.look(ctx, filepath.Base(path), text)
		if err != nil || !ok {
			return nil, err
		}
		return []Mail{m}, nil
	}
	if text != nil && len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	dir, remove, err := env.temp(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	from := path
	if text != nil {
		from = filepath.Join(dir, "mbox")
		if err := os.WriteFile(from, text, 0o644); err != nil {
			return nil, err
		}
	}
	out := filepath.Join(dir, "mails")
	if err := os.Mkdir(out, 0o755); err != nil {
		return nil, err
	}
	if _, err := (git{at: dir, args: []string{"mailsplit", "-b", "-d6", "-o" + out, "--", from}}).run(ctx); err != nil {
		if exit(err) > 0 {
			err = fault.Planf("%s is no mbox: %w", path, err)
		}
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil {
		return nil, err
	}
	var mails []Mail
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m, ok, err := env.look(ctx, filepath.Base(path), text)
		if err != nil {
			return nil, err
		}
		if ok {
			mails = append(mails, m)
		}
	}
	return mails, nil
}

// look reads one mail, and says whether it has a patch. What git am needs and a
// quilt patch lacks is put in: an author, a subject, a date.
func (env Env) look(ctx context.Context, name string, text []byte) (m Mail, ok bool, err error) {
	dir, remove, err := env.temp(ctx)
	if err != nil {
		return m, false, err
	}
	defer remove()
	info, err := git{at: dir, in: bytes.NewReader(text), args: []string{"mailinfo", "-k", "message", "patch"}}.run(ctx)
	if err != nil && exit(err) < 0 {
		return m, false, err
	}
	said := map[string]string{}
	for line := range strings.Lines(info) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ": "); found && said[key] == "" {
			said[key] = value
		}
	}
	patch, perr := os.ReadFile(filepath.Join(dir, "patch"))
	hasPatch := err == nil && perr == nil && diffStart.Match(patch)
	m = Mail{Name: name, Subject: said["Subject"], Level: 1, Text: text, files: filesOf(patch)}
	switch {
	case hasPatch && strings.Contains(said["Email"], "@") && said["Subject"] != "":
		if said["Date"] == "" {
			m.Text = header(text, "Date: "+noDate)
		}
		// A reply that quotes a patch has it behind "> ", which is no diff.
		return m, true, nil
	case diffStart.Match(text) && said["Email"] == "":
		m.Subject = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), ".patch"), ".diff")
		m.Text, m.files = wrap(m.Subject, text), filesOf(text)
		return m, true, nil
	}
	return m, false, nil
}

// Mail reads one patch that is at hand, such as one of spindle's own.
func (env Env) Mail(ctx context.Context, name string, text []byte) (Mail, error) {
	m, ok, err := env.look(ctx, name, text)
	if err == nil && !ok {
		err = fmt.Errorf("patch %s has no patch in it", name)
	}
	return m, err
}

// fileLine are the lines of a patch that name files.
var fileLine = regexp.MustCompile(`(?m)^(?:--- |\+\+\+ |rename from |rename to |copy from )([^\t\r\n]+)`)

// filesOf gives the files that a patch speaks of, with what stands before them
// (a/ and b/) as it is.
func filesOf(patch []byte) []string {
	var files []string
	for _, m := range fileLine.FindAllSubmatch(patch, -1) {
		name := string(m[1])
		if !bytes.HasPrefix(m[0], []byte("--- ")) && !bytes.HasPrefix(m[0], []byte("+++ ")) {
			name = "x/" + name // as if it had a prefix
		}
		if !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}

// noDate stands for a date that a patch does not have; it must be the same
// always, since it goes into the commit's id.
const noDate = "Sat, 1 Jan 2000 00:00:00 +0000"

// header puts a line at the top of a mail's headers, below an mbox's From line.
func header(text []byte, line string) []byte {
	var out bytes.Buffer
	if first, rest, ok := bytes.Cut(text, []byte("\n")); ok && bytes.HasPrefix(first, []byte("From ")) {
		out.Write(first)
		out.WriteByte('\n')
		text = rest
	}
	out.WriteString(line + "\n")
	out.Write(text)
	return out.Bytes()
}

var author = regexp.MustCompile(`(?m)^(?:Author|From): *(.*<[^<>\s]+@[^<>\s]+>)\s*$`)

// wrap makes a mail of a patch with free text above it, as quilt has them.
func wrap(subject string, text []byte) []byte {
	at := diffStart.FindIndex(text)[0]
	about, patch := text[:at], text[at:]
	from := "unknown <unknown@localhost>"
	if m := author.FindSubmatch(about); m != nil {
		from = string(m[1])
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "From: %s\nSubject: %s\nDate: %s\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n", from, subject, noDate)
	for line := range strings.Lines(strings.TrimSpace(string(about))) {
		// Indented, so that no line is taken for a header of the mail's body.
		fmt.Fprintf(&out, " %s\n", strings.TrimRight(line, "\r\n"))
	}
	out.WriteString("---\n\n")
	out.Write(patch)
	return out.Bytes()
}
