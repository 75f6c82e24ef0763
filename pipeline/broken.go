package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"spindle/internal/fault"
	"spindle/reports/record"
)

// buildLog is where the sample of a kernel that could not be made keeps what
// git or the compiler said.
const buildLog = "build.log"

// brokenSample is the sample of a kernel that could not be made by its own
// fault: an outcome as a panic is one, in every cell of its arms.
func brokenSample(env Env, k *Kit, block int, cell record.Cell, dir string, err error) (record.Sample, error) {
	text := strings.TrimRight(err.Error()+"\n\n"+fault.Tail(err), "\n") + "\n"
	if err := os.WriteFile(filepath.Join(dir, buildLog), []byte(text), 0o644); err != nil {
		return record.Sample{}, fmt.Errorf("write %s: %w", buildLog, err)
	}
	return record.Sample{
		Block: block, Cell: cell, Started: env.Now().UTC(), Accel: string(k.Accel),
		Outcome: record.Outcome{Kind: record.KernelFault, Reason: fault.Reason(err), Detail: err.Error(), Log: buildLog, Line: 1},
	}, nil
}
