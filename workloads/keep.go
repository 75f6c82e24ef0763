package workloads

import (
	"encoding/json"
	"errors"
	"os"
)

// StallsFile is where the stalls of a run are, one a line.
const StallsFile = "stalls.jsonl"

// keepBeside writes what goes along with the timed part, once the drive is quick
// again: starts and stops, stalls, the trace.
func (r *run) keepBeside() error {
	return errors.Join(r.keepEvents(), r.keepStalls(), r.stopTrace())
}

// keepStalls writes the stalls with what the counters showed meanwhile.
func (r *run) keepStalls() error {
	f, err := os.Create(r.out(StallsFile))
	if err != nil {
		return err
	}
	defer f.Close()
	e := json.NewEncoder(f)
	for _, s := range r.shared.stalls {
		if err := e.Encode(s); err != nil {
			return err
		}
	}
	return f.Close()
}
