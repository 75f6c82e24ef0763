package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"spindle/workloads"
)

// job carries out the job in a file. It keeps step with the host by lines: it
// says "ready", waits for "go", says "done". The result is written last, under
// its name at once, also when the workload failed: no result means that
// something of ours did.
func job(ctx context.Context, file string, in io.Reader, out io.Writer) error {
	_, err := carryOut(ctx, file, handshake(in, out))
	return err
}

// carryOut is job with the host at the other end of h. It gives the directory
// with everything that is kept.
func carryOut(ctx context.Context, file string, h workloads.Handshake) (dir string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	j, err := workloads.DecodeJob(text)
	if err != nil {
		return "", err
	}
	res := workloads.Do(ctx, j, h)
	data, err := json.MarshalIndent(res, "", "\t")
	if err != nil {
		return "", err
	}
	path := filepath.Join(j.Dir, workloads.ResultFile)
	if err := os.WriteFile(path+".tmp", append(data, '\n'), 0o600); err != nil {
		return "", err
	}
	return j.Dir, os.Rename(path+".tmp", path)
}

func handshake(in io.Reader, out io.Writer) workloads.Handshake {
	lines := bufio.NewReader(in)
	return workloads.Handshake{
		Ready: func() error {
			if _, err := fmt.Fprintln(out, "ready"); err != nil {
				return err
			}
			line, err := lines.ReadString('\n')
			if err != nil {
				return errors.New("the host hung up")
			}
			if word := strings.TrimSpace(line); word != "go" {
				return fmt.Errorf("the host said %q", word)
			}
			return nil
		},
		Done: func() error {
			_, err := fmt.Fprintln(out, "done")
			return err
		},
	}
}
