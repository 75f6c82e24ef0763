package pipe

import (
	"encoding/json"
	"fmt"
	"time"
)

// The files, in the working directory.
const (
	InputFile  = "randfile"
	OutputFile = "outfile"
)

// Options are the numbers of a run. There are no defaults here.
type Options struct {
	Dir     string        `json:"dir"`
	Size    int64         `json:"size"`    // bytes of the input, as Prepare makes it
	Block   int           `json:"block"`   // bytes read at once
	Wait    time.Duration `json:"wait"`    // for a read, before the next begins; what takes longer is printed
	Rewrite bool          `json:"rewrite"` // into a file, and sync; else to nowhere
	Gzip    bool          `json:"gzip"`    // the input is a gzip file, and gzip -dc the second process
	Seed    uint64        `json:"seed"`    // of the input
	Stall   time.Duration `json:"stall"`   // what takes longer is listed
	Report  string        `json:"report"`  // path
}

func (o Options) check() error {
	switch {
	case o.Size < 1 || o.Block < 1 || o.Block > 1<<30:
		return fmt.Errorf("file of %d bytes by %d: out of range", o.Size, o.Block)
	case o.Wait < time.Microsecond:
		return fmt.Errorf("wait %s: want at least a microsecond", o.Wait)
	case o.Gzip && !o.Rewrite:
		return fmt.Errorf("gzip without a file to write to")
	}
	return nil
}

const (
	mainRole = "read-to-pipe"
	copyRole = "read-to-pipe-copy"
)

// Args gives the arguments that make a program with Role a run with these
// options.
func (o Options) Args() ([]string, error) {
	text, err := json.Marshal(o)
	return []string{mainRole, string(text)}, err
}
