package torture

import (
	"encoding/json"
	"fmt"
	"time"
)

// The files, in the working directory.
const (
	RandomFile = "fsync-tester.rnd-file" // target of the random writer
	FsyncFile  = "fsync-tester.tst-file" // written and synced
)

// Block is what the random writer writes at once, and what the file is filled
// by.
const Block = 4096

// Options are the numbers of a run. There are no defaults here.
type Options struct {
	Dir        string        `json:"dir"`        // where the files are
	File       int64         `json:"file"`       // bytes of the random file, a multiple of Block and at least two
	Write      int64         `json:"write"`      // bytes written before each fsync
	Pause      time.Duration `json:"pause"`      // after each fsync, on average
	Jitter     bool          `json:"jitter"`     // draw each pause from half of Pause to one and a half
	Seed       uint64        `json:"seed"`       // of the pauses; equal seeds give equal pauses
	Duration   time.Duration `json:"duration"`   // no further fsync once this has passed
	Iterations int           `json:"iterations"` // fsyncs at most
	Writer     bool          `json:"writer"`     // run the random writer
	Report     string        `json:"report"`     // path of the report that Run writes
}

// Report is what was measured.
type Report struct {
	Writes []float64 `json:"writes"` // seconds, one each iteration
	Fsyncs []float64 `json:"fsyncs"` // seconds, one each iteration
	// The random writer's count as it last told it, at least once a second.
	RandomWrites  int64   `json:"random_writes"`
	RandomSeconds float64 `json:"random_seconds"` // from its first write to that count
}

func (o Options) check() error {
	switch {
	case o.File < 2*Block || o.File%Block != 0:
		return fmt.Errorf("file of %d bytes: want a multiple of %d, at least %d", o.File, Block, 2*Block)
	case o.Write < 1 || o.Iterations < 1 || o.Pause < 0 || o.Duration < 0:
		return fmt.Errorf("write %d, iterations %d, pause %s, duration %s: out of range", o.Write, o.Iterations, o.Pause, o.Duration)
	}
	return nil
}

// Names of the roles of this program's processes.
const (
	mainRole   = "fsync-tester"
	writerRole = "fsync-tester-writer"
)

// Args gives the arguments that make a program with Role a run with these
// options.
func (o Options) Args() ([]string, error) {
	text, err := json.Marshal(o)
	return []string{mainRole, string(text)}, err
}
