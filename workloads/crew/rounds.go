package crew

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Rounds is a program that has new processes in each of its rounds, as fs_mark
// has: a leader, started with its name and its options as JSON, and members,
// started with MemberRole, the same options, their number and the round's.
type Rounds[O any] struct {
	Name   string
	Check  func(o O) error
	Lead   func(o O) error
	Member func(o O, index, round int) error
}

// MemberRole is the first argument of a member.
func (r Rounds[O]) MemberRole() string { return r.Name + "-member" }

// Role takes over a process that was started as one of the program's: args are
// without the program's own name. ok is false if they name something else.
func (r Rounds[O]) Role(args []string) (code int, ok bool) {
	if len(args) < 2 || args[0] != r.Name && args[0] != r.MemberRole() {
		return 0, false
	}
	if err := r.act(args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		return 1, true
	}
	return 0, true
}

func (r Rounds[O]) act(args []string) error {
	var o O
	if err := json.Unmarshal([]byte(args[1]), &o); err != nil {
		return err
	}
	if err := r.Check(o); err != nil {
		return err
	}
	if args[0] == r.Name {
		return r.Lead(o)
	}
	if len(args) != 4 {
		return errors.New("which process, and which round?")
	}
	index, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	round, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	return r.Member(o, index, round)
}
