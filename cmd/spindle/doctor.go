package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/host"
	"spindle/internal/proc"
)

func doctor(ctx context.Context, a *app, args []string) error {
	f := a.flags("doctor")
	install := f.Bool("install", false, "install what is missing, by apt")
	yes := f.Bool("yes", false, "with --install: do not ask")
	asJSON := f.Bool("json", false, "for programs")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return f.wrong("takes no arguments")
	}
	if *yes && !*install {
		return f.wrong("--yes goes with --install")
	}
	r, err := a.look(ctx)
	if err != nil {
		return err
	}
	if *install {
		if err := a.install(ctx, r, r.Missing(), *yes); err != nil {
			return err
		}
		if r, err = a.look(ctx); err != nil {
			return err
		}
	}
	if *asJSON {
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		_, err = fmt.Fprint(a.stdout, r.Text())
	}
	if err != nil {
		return err
	}
	if lacks := required(r); len(lacks) > 0 {
		return incomplete(r, lacks)
	}
	return nil
}

// look looks at this host.
func (a *app) look(ctx context.Context) (host.Report, error) {
	cache, err := a.cacheDir()
	if err != nil {
		return host.Report{}, err
	}
	return host.Look(ctx, host.Env{
		Path: filepath.SplitList(a.getenv("PATH")), UID: os.Getuid(), User: a.getenv("USER"),
		CacheDir: cache, Watch: 200 * time.Millisecond,
	})
}

// required gives what no run does without.
func required(r host.Report) []host.Need {
	var out []host.Need
	for _, n := range r.Missing() {
		if n.Use == host.Required {
			out = append(out, n)
		}
	}
	return out
}

// incomplete is the error of a host that lacks needs.
func incomplete(r host.Report, needs []host.Need) error {
	var names []string
	for _, n := range needs {
		names = append(names, n.Name())
	}
	e := fault.New(fault.Machinery, "", fmt.Errorf("this host lacks %s", strings.Join(names, ", ")))
	e.Hint = "spindle doctor says which packages have them"
	if c := r.InstallCommand(needs); c != nil {
		e.Hint = strings.Join(c, " ")
		if r.CanInstall() {
			e.Hint = "spindle doctor --install, which runs: " + e.Hint
		}
	}
	return e
}

// install shows what is to be run for needs and, if the person agrees, runs
// it. Asking takes a terminal: elsewhere --yes must have been said.
func (a *app) install(ctx context.Context, r host.Report, needs []host.Need, yes bool) error {
	command := r.InstallCommand(needs)
	if command == nil {
		return nil
	}
	if !r.CanInstall() {
		fmt.Fprintf(a.stderr, "spindle: install what is missing with:\n\n  %s\n\n", strings.Join(command, " "))
		return nil
	}
	if _, err := proc.LookPath(command[0]); err != nil && command[0] == "sudo" {
		return &fault.Error{Kind: fault.Machinery, Err: errors.New("install: that takes root, and there is no sudo"),
			Hint: "as root: " + strings.Join(command[1:], " ")}
	}
	// A fresh machine has no list of packages, and an old one names versions
	// that are gone.
	update := slices.Clone(command[:slices.Index(command, "apt-get")+1])
	commands := [][]string{append(update, "update"), command}
	fmt.Fprint(a.stderr, "spindle: to install what this host lacks:\n\n")
	for _, c := range commands {
		fmt.Fprintf(a.stderr, "  %s\n", strings.Join(c, " "))
	}
	fmt.Fprintln(a.stderr)
	if !yes {
		ok, err := a.ask("Run this now?")
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.Machinery, "", errors.New("nothing was installed"))
		}
	}
	for _, c := range commands {
		_, err := proc.Run(ctx, proc.Cmd{
			Path: c[0], Args: c[1:], Stdin: a.stdin, Stdout: a.stderr, Stderr: a.stderr, Terminal: true,
			Setenv: []string{"DEBIAN_FRONTEND=noninteractive"},
		})
		if err != nil {
			return fault.New(fault.Machinery, "install", err)
		}
	}
	return nil
}

// ask puts a question to the person at the terminal.
func (a *app) ask(question string) (bool, error) {
	if !isTerminal(a.stdin) {
		return false, &fault.Error{Kind: fault.Plan, Err: errors.New("ask before installing: standard input is no terminal"), Hint: "--yes installs without asking"}
	}
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil {
		return false, fmt.Errorf("ask before installing: %w", err)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}
