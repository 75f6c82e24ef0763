package ioperf

import (
	"encoding/json"
	"fmt"
	"time"
)

// Block is what is read and written at once.
const Block = 8192

// The files, in the working directory.
const (
	DataFile = "data"
	WALFile  = "wal"
)

// The original prints after so many operations.
const (
	readInterval   = 10000
	walInterval    = 1000
	commitInterval = 500
	commitEvery    = 5 // records of the log
)

// Options are the numbers of a run. There are no defaults here.
type Options struct {
	Dir     string `json:"dir"`
	Data    int64  `json:"data"` // bytes of the data file
	WAL     int64  `json:"wal"`  // bytes after which the log begins anew
	Readers int    `json:"readers"`
	Seed    uint32 `json:"seed"` // of random()

	Independent bool `json:"independent"` // each process has its own sequence
	Aligned     bool `json:"aligned"`     // places are whole blocks

	CheckpointWrites int           `json:"checkpoint_writes"` // between fsyncs of the data file
	CheckpointPause  time.Duration `json:"checkpoint_pause"`  // after each write of the checkpointer
	WALPause         time.Duration `json:"wal_pause"`         // after each record of the log
	// CommitPause is the most of a further pause after each commit, drawn evenly
	// from 0 on; 0 is none, as in the original. See the package comment.
	CommitPause time.Duration `json:"commit_pause,omitempty"`

	Duration time.Duration `json:"duration"` // no operation begins after it
	Stall    time.Duration `json:"stall"`    // what takes longer is listed
	Report   string        `json:"report"`   // path of the report; each process has its own beside it
}

func (o Options) check() error {
	switch {
	case o.Data < 2*Block || o.WAL < 2*Block:
		return fmt.Errorf("files of %d and %d bytes: want at least %d", o.Data, o.WAL, 2*Block)
	case o.Readers < 0 || o.CheckpointWrites < 1 || o.Duration <= 0 || o.CheckpointPause < 0 || o.WALPause < 0 || o.CommitPause < 0:
		return fmt.Errorf("readers %d, checkpoint every %d, duration %s: out of range", o.Readers, o.CheckpointWrites, o.Duration)
	}
	return nil
}

const (
	mainRole       = "ioperf"
	memberRole     = "ioperf-member"
	checkpointer   = "checkpointer"
	walWriter      = "wal"
	reader         = "reader"
	beforeReaders  = 2 // members: the checkpointer and the log's writer
	readOp         = "read"
	walOp          = "wal"
	commitOp       = "commit"
	checkpointOp   = "checkpoint write"
	checkpointSync = "checkpoint fsync"
)

// Args gives the arguments that make a program with Role a run with these
// options.
func (o Options) Args() ([]string, error) {
	text, err := json.Marshal(o)
	return []string{mainRole, string(text)}, err
}

// roles gives what each process is, in the order of the original's forks.
func (o Options) roles() []string {
	rs := []string{checkpointer, walWriter}
	for range o.Readers {
		rs = append(rs, reader)
	}
	return rs
}
