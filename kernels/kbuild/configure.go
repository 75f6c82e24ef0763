package kbuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"spindle/internal/fault"
	"spindle/kernels/kconfig"
)

// Config is how a kernel is configured: a whole configuration or none, and
// fragments on top.
type Config struct {
	Whole     string // text of a .config; "" is tinyconfig
	From      string // its file
	Fragments []Fragment
}

// Fragment is a part of a configuration.
type Fragment struct {
	Name string
	Text string
	Asks []kconfig.Ask
	Own  bool // it comes with spindle: what a tree lacks of it is told and no error
}

// Text gives all that the configuration follows from, for hashing.
func (c Config) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "whole %d\n%s", len(c.Whole), c.Whole)
	for _, f := range c.Fragments {
		fmt.Fprintf(&b, "fragment %d own %v\n%s", len(f.Text), f.Own, f.Text)
	}
	return b.String()
}

// asks gives what all fragments ask for; of those about the same symbol the
// last.
func (c Config) asks() []kconfig.Ask {
	var lists [][]kconfig.Ask
	for _, f := range c.Fragments {
		lists = append(lists, f.Asks)
	}
	return kconfig.Merge(lists...)
}

// tiny are the files of a kernel that make tinyconfig out of allnoconfig, in
// their order. A kernel may be without some of them.
func (b build) tiny() []string {
	return []string{"kernel/configs/tiny-base.config", "kernel/configs/tiny.config", "arch/" + b.spec.Target.SrcDir + "/configs/tiny.config"}
}

// configure makes .config and checks that it became what was asked.
//
// Without a whole configuration Kconfig starts from nothing with the values that
// are asked for (KCONFIG_ALLCONFIG). The other way, to let olddefconfig complete
// a list of symbols, loses those that depend on ones which come later.
func (b build) configure(ctx context.Context, r *Result) (kconfig.Config, error) {
	src, obj := b.lane.path("src"), b.lane.path("obj")
	c := b.spec.Config
	asked := kconfig.Text(c.asks())
	var args []string
	if c.Whole != "" {
		if err := writeChanged(filepath.Join(obj, ".config"), c.Whole+"\n"+asked); err != nil {
			return nil, err
		}
		args = []string{"olddefconfig"}
	} else {
		var all [][]kconfig.Ask
		for _, name := range b.tiny() {
			text, err := os.ReadFile(filepath.Join(src, name))
			if err != nil {
				if errors.Is(err, os.ErrNotExist) {
					continue
				}
				return nil, err
			}
			asks, err := kconfig.Asks(name, string(text))
			if err != nil {
				return nil, fault.Kernelf("configure kernel: %w", err)
			}
			all = append(all, asks)
		}
		file := b.lane.path("asked.config")
		if err := writeChanged(file, kconfig.Text(kconfig.Merge(append(all, c.asks())...))); err != nil {
			return nil, err
		}
		args = []string{"KCONFIG_ALLCONFIG=" + file, "allnoconfig"}
	}
	if err := b.make(ctx, &output{}, args...); err != nil {
		return nil, fmt.Errorf("configure kernel: %w", err)
	}
	f, err := os.Open(r.Config)
	if err != nil {
		return nil, fmt.Errorf("configure kernel: %w", err)
	}
	defer f.Close()
	config, err := kconfig.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("configure kernel: %w", err)
	}
	return config, b.check(config, r)
}

// maxTold is how many symbols are named to the person who waits.
const maxTold = 5

// check holds the configuration against what fragments asked for. A user's
// fragment must be met. One of ours need not: which of its symbols a plan
// cannot do without is decided by what the plan asks of the kernel.
func (b build) check(config kconfig.Config, r *Result) error {
	asks := b.spec.Config.asks()
	var late []kconfig.Ask // not as asked
	for _, a := range asks {
		if v, set := config[a.Symbol]; v != a.Value && (set || a.Value != "n" && a.Value != "") {
			late = append(late, a)
		}
	}
	if len(late) == 0 {
		return nil
	}
	tree, err := kconfig.Read(os.DirFS(b.lane.path("src")), map[string]string{"SRCARCH": b.spec.Target.SrcDir, "HEADER_ARCH": "x86"})
	if err != nil {
		return err
	}
	own := map[string]bool{}
	for _, f := range b.spec.Config.Fragments {
		own[f.Name] = f.Own
	}
	var wrong []string
	for _, p := range kconfig.Check(tree, config, late) {
		switch {
		case !own[p.From]:
			wrong = append(wrong, p.String())
		case p.Absent:
			r.Absent = append(r.Absent, p)
		default:
			r.Unmet = append(r.Unmet, p)
		}
	}
	for i, p := range r.Unmet {
		if i == maxTold {
			b.env.Log.Printf("kernel %s: and %d more symbols; spindle kernel show lists them", b.spec.Name, len(r.Unmet)-i)
			break
		}
		b.env.Log.Printf("kernel %s: %s", b.spec.Name, p)
	}
	if len(wrong) > 0 {
		return &fault.Error{Kind: fault.Plan, Reason: "config", Err: fmt.Errorf("configure kernel: %s", strings.Join(wrong, "\n\t")),
			Hint: "ask for what the symbol depends on too, or take it out"}
	}
	return nil
}

// writeChanged writes a file unless it has that text already: make goes by its
// time.
func writeChanged(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
