package tree

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"spindle/internal/fault"
)

// Mail is a patch as git am takes it.
type Mail struct {
	Name    string // where it is from, for people: a file's name
	Subject string // with its [PATCH v2 3/8]
	Level   int    // leading parts of paths to take off, -p; 1 is usual
	Text    []byte

	files []string // that the patch names, with their prefixes
}

// maxSeries bounds what is read of a series, in bytes. The longest on lore have
// a few megabytes.
const maxSeries = 256 << 20

// Mails reads a series: an mbox (packed with gzip or not), a single patch, a
// directory of patches, a quilt series, or a maildir. Mails without a patch
// (the cover letter, replies) are left out. Where all subjects are numbered
// they are sorted by that, since mails arrive in any order; two versions in one
// mbox, and a gap, are faults of the plan.
//
// The file's content is foreign: see [FuzzMails].
func (env Env) Mails(ctx context.Context, path string) ([]Mail, error) {
	mails, err := env.readSeries(ctx, path)
	if err == nil && !isQuilt(path) {
		mails, err = order(path, mails)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fault.Planf("%w", err)
		}
		return nil, fmt.Errorf("read series: %w", err)
	}
	if len(mails) == 0 {
		return nil, fault.Planf("read series %s: there is no patch in it", path)
	}
	return mails, nil
}

func (env Env) readSeries(ctx context.Context, path string) ([]Mail, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir() && isQuilt(path):
		return env.quilt(ctx, filepath.Join(path, "series"))
	case info.IsDir() && exists(filepath.Join(path, "cur")) && exists(filepath.Join(path, "new")):
		return env.split(ctx, path, nil)
	case info.IsDir():
		return env.directory(ctx, path)
	case isQuilt(path):
		return env.quilt(ctx, path)
	}
	text, err := readPacked(path)
	if err != nil {
		return nil, err
	}
	return env.split(ctx, path, text)
}

// isQuilt says whether a file or directory has the order of its patches in a
// file of quilt's.
func isQuilt(path string) bool {
	return filepath.Base(path) == "series" || exists(filepath.Join(path, "series"))
}

func readPacked(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSeries+1))
	if err == nil && bytes.HasPrefix(text, []byte("\x1f\x8b")) {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = io.ReadAll(io.LimitReader(z, maxSeries+1))
		}
		if err != nil {
			err = fault.Planf("%s: %w", path, err)
		}
	}
	if err == nil && len(text) > maxSeries {
		err = fault.Planf("%s: larger than %d MiB, which no series is", path, maxSeries>>20)
	}
	return text, err
}

// directory reads a directory of patches in the order of their names.
func (env Env) directory(ctx context.Context, dir string) ([]Mail, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var mails []Mail
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || name[0] == '.' || !slices.Contains([]string{".patch", ".diff", ".eml", ".mbox"}, filepath.Ext(name)) {
			continue
		}
		text, err := readPacked(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		more, err := env.split(ctx, filepath.Join(dir, name), text)
		if err != nil {
			return nil, err
		}
		mails = append(mails, more...)
	}
	if len(mails) == 0 {
		return nil, fault.Planf("%s: no file in it ends in .patch, .diff, .eml or .mbox and has a patch", dir)
	}
	return mails, nil
}

// quilt reads a series file: names of patches, each perhaps with -pN.
func (env Env) quilt(ctx context.Context, file string) ([]Mail, error) {
	text, err := readPacked(file)
	if err != nil {
		return nil, err
	}
	var mails []Mail
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		level := 1
		for _, w := range words[1:] {
			if level, err = strconv.Atoi(strings.TrimPrefix(w, "-p")); !strings.HasPrefix(w, "-p") || err != nil || level < 0 {
				return nil, fault.Planf("%s:%d: %s: only -pN may stand behind a patch", file, n, w)
			}
		}
		patch := filepath.Join(filepath.Dir(file), words[0])
		text, err := readPacked(patch)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		m, ok, err := env.look(ctx, words[0], text)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fault.Planf("%s:%d: %s has no patch in it", file, n, words[0])
		}
		m.Level = level
		mails = append(mails, m)
	}
	return mails, nil
}

// numbered finds what [PATCH v3 2/8] says.
var numbered = regexp.MustCompile(`^\s*\[([^\]]*?)\b(\d+)/(\d+)\s*\]`)
var versioned = regexp.MustCompile(`(?i)\bv(\d+)\b`)

// order sorts mails by the numbers in their subjects, if all have one. A single
// mail may have any.
func order(path string, mails []Mail) ([]Mail, error) {
	if len(mails) < 2 {
		return mails, nil
	}
	type place struct{ n, of int }
	places := map[int]place{}
	version, seen := "", map[int]string{}
	for i, m := range mails {
		f := numbered.FindStringSubmatch(m.Subject)
		if f == nil {
			return mails, nil
		}
		n, _ := strconv.Atoi(f[2])
		of, _ := strconv.Atoi(f[3])
		places[i] = place{n, of}
		v := "v1"
		if w := versioned.FindStringSubmatch(f[1]); w != nil {
			v = "v" + w[1]
		}
		switch {
		case version != "" && v != version:
			return nil, fault.Planf("%s: it has patches of %s and of %s: give one version (b4 am makes such an mbox)", path, version, v)
		case seen[n] != "":
			return nil, fault.Planf("%s: two patches are number %d: %q and %q", path, n, seen[n], m.Subject)
		}
		version, seen[n] = v, m.Subject
	}
	index := make([]int, len(mails))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(places[a].n, places[b].n) })
	out := make([]Mail, len(mails))
	for i, from := range index {
		out[i] = mails[from]
		if n := places[from].n; n != places[index[0]].n+i {
			return nil, fault.Planf("%s: patch %d of %d is missing: %q is followed by %q", path, places[index[0]].n+i, places[from].of, out[max(i-1, 0)].Subject, out[i].Subject)
		}
	}
	if first := places[index[0]].n; first > 1 {
		return nil, fault.Planf("%s: patch 1 of %d is missing: the first is %q", path, places[index[0]].of, out[0].Subject)
	}
	if last := places[index[len(index)-1]]; last.n < last.of {
		return nil, &fault.Error{Kind: fault.Plan,
			Err:  fmt.Errorf("%s: patch %d of %d is missing: the last is %q", path, last.n+1, last.of, out[len(out)-1].Subject),
			Hint: "b4 am fetches all of a series; to have the first patches alone give all of them, and upto: " + strconv.Itoa(last.n)}
	}
	return out, nil
}
