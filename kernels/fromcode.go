package kernels

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/store"
	"spindle/kernels/kbuild"
	"spindle/kernels/kconfig"
	"spindle/kernels/tree"
)

// buildRecipe changes when the same source, configuration and compiler make
// another kernel than before.
const buildRecipe = "2"

// fromCode gives the entry of a kernel that is built here.
func fromCode(ctx context.Context, env Env, s Source) (dir string, err error) {
	spec, b, err := plan(ctx, env, s)
	if err != nil {
		return "", err
	}
	if err := spec.Check(ctx); err != nil {
		return "", err
	}
	key, err := buildKey(ctx, spec)
	if err != nil {
		return "", err
	}
	if env.NoBuild {
		if dir, ok := env.Store.Get(key); ok {
			return dir, nil
		}
		return "", ErrNotBuilt
	}
	return env.Store.Make(ctx, key, func(ctx context.Context, dir string) error {
		return kbuild.Build(ctx, kbuild.Env{Dir: env.builds(), Jobs: env.Jobs, Log: env.Log}, spec, func(r kbuild.Result) error {
			return keep(ctx, dir, spec, b, r)
		})
	})
}

// builds is where repositories and lanes are.
func (env Env) builds() string {
	if env.Dir != "" {
		return env.Dir
	}
	return filepath.Join(filepath.Dir(env.Store.Dir()), "kernels")
}

// plan finds out what a source means, without building it: the commit with its
// patches, the compiler, the configuration.
func plan(ctx context.Context, env Env, s Source) (kbuild.Spec, Build, error) {
	fail := func(err error) (kbuild.Spec, Build, error) { return kbuild.Spec{}, Build{}, err }
	if err := s.here(); err != nil {
		return fail(err)
	}
	target, err := kbuild.Arch(s.Arch)
	if err != nil {
		return fail(fault.Planf("arch: %w", err))
	}
	config, parts, err := s.config(target.Name)
	if err != nil {
		return fail(err)
	}
	compiler, err := kbuild.FindCompiler(ctx, s.CC)
	if err != nil {
		return fail(err)
	}
	code, own, err := s.code(ctx, env, target.Name)
	if err != nil {
		return fail(err)
	}
	b := Build{
		Commit: code.Head, Tree: code.Tree, Base: code.Commit, Dirty: code.Diff != nil,
		Arch: target.Name, Parts: parts, Compiler: compiler.Text,
	}
	for i, p := range code.Patches {
		list := &b.Patches
		if i >= len(code.Patches)-own {
			list = &b.Own
		}
		*list = append(*list, Patch(p))
	}
	return kbuild.Spec{Name: cmp.Or(env.Name, s.String()), Code: code, Target: target, Config: config, Compiler: compiler}, b, nil
}

// code gives the source with its patches, and how many of them are our own, at
// the end.
func (s Source) code(ctx context.Context, env Env, arch string) (c tree.Code, own int, err error) {
	t := tree.Env{Dir: env.builds(), Log: env.Log}
	base, err := s.base(ctx, env, t)
	if err != nil {
		return c, 0, err
	}
	mails, err := s.mails(ctx, t, base)
	if err != nil {
		return c, 0, err
	}
	ours, err := ownPatches(ctx, t, arch)
	if err != nil {
		return c, 0, err
	}
	if c, err = base.Apply(ctx, append(mails, ours...)); err != nil {
		if n := len(c.Patches); fault.Of(err) == fault.Kernel && n >= len(mails) {
			// Not the fault of the kernel under test: it does not suit us.
			err = &fault.Error{Kind: fault.Plan, Reason: "patch", Err: fmt.Errorf("spindle's patch for %s does not fit: %w", arch, err), Tail: fault.Tail(err),
				Hint: "it fits 6.1 to 6.12 at least; take a base near those"}
		}
		return c, 0, err
	}
	return c, len(ours), nil
}

func (s Source) base(ctx context.Context, env Env, t tree.Env) (tree.Base, error) {
	switch {
	case s.Git != "":
		return t.Git(ctx, s.Git, s.Rev)
	case s.Tree != "":
		return t.Worktree(ctx, s.Tree)
	case s.Deb != "":
		return codeOfDeb(ctx, env, t, s.Deb)
	}
	return s.tarball(ctx, env, t)
}

func (s Source) mails(ctx context.Context, t tree.Env, base tree.Base) ([]tree.Mail, error) {
	if s.Series == "" {
		return nil, nil
	}
	var mails []tree.Mail
	var err error
	if tree.IsRange(s.Series) {
		url := ""
		if tree.IsURL(s.Git) {
			url = s.Git
		}
		mails, err = base.Range(ctx, url, s.Series)
	} else {
		mails, err = t.Mails(ctx, s.Series)
	}
	if err != nil || s.Upto == nil {
		return mails, err
	}
	if *s.Upto > len(mails) {
		return nil, fault.Planf("upto: %d: series %s has %d patches", *s.Upto, s.Series, len(mails))
	}
	return mails[:*s.Upto], nil
}

// tarball reads a tarball of this host or of elsewhere.
func (s Source) tarball(ctx context.Context, env Env, t tree.Env) (tree.Base, error) {
	name := fmt.Sprintf("%s (sha256 %.12s)", path.Base(s.Tarball), s.SHA256)
	if b, ok := t.Imported(ctx, "tarball "+s.SHA256); ok {
		b.Name = name
		return b, nil
	}
	file := s.Tarball
	if tree.IsURL(s.Tarball) {
		key, err := store.NewKey("tarball").Field("sha256", s.SHA256).Sum()
		if err != nil {
			return tree.Base{}, err
		}
		dir, err := env.Store.Make(ctx, key, func(ctx context.Context, dir string) error {
			return download(ctx, env, s.Tarball, s.SHA256, filepath.Join(dir, "tarball"))
		})
		if err != nil {
			return tree.Base{}, err
		}
		file = filepath.Join(dir, "tarball")
	} else {
		sum, err := fileSum(file)
		if errors.Is(err, fs.ErrNotExist) {
			return tree.Base{}, fault.Planf("tarball: %w", err)
		}
		if err != nil {
			return tree.Base{}, err
		}
		if sum != s.SHA256 {
			return tree.Base{}, fault.Planf("tarball %s: its sha256 is %s, and not that of the plan, %s", file, sum, s.SHA256)
		}
	}
	b, err := t.Import(ctx, "tarball "+s.SHA256, file)
	b.Name = name
	return b, err
}

// config gives the configuration that parts ask for, and their names.
func (s Source) config(arch string) (c kbuild.Config, names []string, err error) {
	parts := []string(s.Config)
	if len(parts) == 0 {
		parts = kconfig.Default(arch)
	}
	for i, part := range parts {
		var text string
		own := !isFile(part)
		if own {
			if text, err = kconfig.Fragment(part); err != nil {
				return c, nil, fault.Planf("config: %w", err)
			}
		} else {
			b, err := os.ReadFile(part)
			if err != nil {
				return c, nil, fault.Planf("config: %w", err)
			}
			text = string(b)
			if bytes.Contains(b[:min(len(b), 500)], []byte("Automatically generated file; DO NOT EDIT.")) {
				if i > 0 {
					return c, nil, fault.Planf("config: %s is a whole configuration: it comes first", part)
				}
				if _, err := kconfig.Parse(strings.NewReader(text)); err != nil {
					return c, nil, fault.Planf("config: %s: %w", part, err)
				}
				c.Whole, c.From = text, part
				names = append(names, part)
				continue
			}
		}
		if c.Fragments, err = addFragment(c.Fragments, part, text, own); err != nil {
			return c, nil, err
		}
		names = append(names, part)
	}
	text, err := kconfig.Fragment(kconfig.Fixed)
	if err != nil {
		return c, nil, err
	}
	c.Fragments, err = addFragment(c.Fragments, kconfig.Fixed, text, true)
	return c, names, err
}

func addFragment(list []kbuild.Fragment, name, text string, own bool) ([]kbuild.Fragment, error) {
	asks, err := kconfig.Asks(name, text)
	if err != nil {
		return nil, fault.Planf("config: %w", err)
	}
	return append(list, kbuild.Fragment{Name: name, Text: text, Asks: asks, Own: own}), nil
}

// patches are spindle's own, by architecture.
//
//go:embed patches
var patches embed.FS

// ownPatches gives those for an architecture, in the order of their names. They
// are applied on top of every build for it.
func ownPatches(ctx context.Context, t tree.Env, arch string) ([]tree.Mail, error) {
	entries, err := patches.ReadDir(path.Join("patches", arch))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []tree.Mail
	for _, e := range entries {
		if path.Ext(e.Name()) != ".patch" {
			continue
		}
		text, err := patches.ReadFile(path.Join("patches", arch, e.Name()))
		if err != nil {
			return nil, err
		}
		m, err := t.Mail(ctx, e.Name(), text)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// buildKey is the hash of all that the kernel follows from. It is known before
// anything is built, so that a kernel which was built before costs a look.
func buildKey(ctx context.Context, s kbuild.Spec) (store.Key, error) {
	return store.NewKey("kernel").
		Field("recipe", recipe+" build "+buildRecipe).
		Field("tree", s.Code.Tree).
		Field("arch", s.Target.Name).
		Field("config", s.Config.Text()).
		Field("compiler", s.Compiler.Text).
		Field("tools", strings.Join(kbuild.Tools(ctx), "\n")).
		// Not hashed into the kernel, but part of what an entry says.
		Field("commit", s.Code.Head).
		Field("dirty", string(s.Code.Diff)).
		Sum()
}

// keep copies a build out of its lane and completes the entry.
func keep(ctx context.Context, dir string, s kbuild.Spec, b Build, r kbuild.Result) error {
	image := "bzImage"
	if s.Target.Name == "um" {
		image = "linux"
	}
	if err := copyFile(filepath.Join(dir, image), r.Image); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(dir, "config"), r.Config); err != nil {
		return err
	}
	if r.Modules != "" {
		from := filepath.Join(r.Modules, "lib", "modules", r.Release)
		names, err := moduleFiles(from)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := copyFile(filepath.Join(dir, "modules", "lib", "modules", r.Release, name), filepath.Join(from, name)); err != nil {
				return fmt.Errorf("copy modules: %w", err)
			}
		}
	}
	if s.Code.Diff != nil {
		if err := os.WriteFile(filepath.Join(dir, "dirty.diff"), s.Code.Diff, 0o644); err != nil {
			return err
		}
	}
	for _, p := range r.Absent {
		b.Absent = append(b.Absent, p.Symbol)
	}
	for _, p := range r.Unmet {
		b.Unmet = append(b.Unmet, p.String())
	}
	b.Flags, b.Notes = r.Flags, slices.Clone(r.Notes)
	rec := record{Source: describe(s, b), Config: "build", Modules: r.Modules != "", Build: &b}
	if s.Target.Name == "um" {
		rec.Arch, rec.Version = "um", r.Release
	}
	got, err := finish(ctx, dir, rec)
	if err == nil && got != r.Release {
		err = fmt.Errorf("the kernel says that it is %s, and its build that it is %s", got, r.Release)
	}
	return err
}

// describe says what was built, in one line.
func describe(s kbuild.Spec, b Build) string {
	out := s.Code.Name
	switch n := len(b.Patches); n {
	case 0:
	case 1:
		out += fmt.Sprintf(" + 1 patch (%.12s)", b.Commit)
	default:
		out += fmt.Sprintf(" + %d patches (%.12s)", n, b.Commit)
	}
	if s.Target.Name != "x86_64" {
		out += ", " + s.Target.Name
	}
	return out
}

// download fetches a file and holds it against its hash.
func download(ctx context.Context, env Env, url, sum, to string) (err error) {
	env.Log.Printf("kernel: fetching %s", url)
	defer func() {
		if err != nil && fault.Of(err) == fault.Machinery {
			e := fault.New(fault.Machinery, "download", fmt.Errorf("fetch %s: %w", url, err))
			e.Hint = "http_proxy in the environment names a proxy; a file that is here already is given by its path"
			err = e
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fault.Planf("tarball %s: %w", url, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server says %s", resp.Status)
	}
	got, err := writeSum(to, resp.Body)
	if err != nil {
		return err
	}
	if got != sum {
		return fault.Planf("tarball %s: its sha256 is %s, and not that of the plan, %s", url, got, sum)
	}
	return nil
}
