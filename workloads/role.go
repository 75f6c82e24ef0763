package workloads

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"spindle/internal/proc"
	"spindle/workloads/age"
	"spindle/workloads/create"
	"spindle/workloads/fiemap"
	"spindle/workloads/ioperf"
	"spindle/workloads/pipe"
	"spindle/workloads/startup"
	"spindle/workloads/torture"
)

// Role takes over a process that was started as one of the workloads' own
// programs, or as one of their processes: args are without the program's own
// name, and self is how to start it again. ok is false if args name something
// else.
func Role(ctx context.Context, self []string, args []string) (code int, ok bool) {
	for _, role := range []func(context.Context, []string, []string) (int, bool){
		torture.Role, ioperf.Role, pipe.Role, startup.Role, create.Role, age.Role, fiemap.Role,
	} {
		if code, ok := role(ctx, self, args); ok {
			return code, true
		}
	}
	if len(args) < 3 || args[0] != groupRole {
		return 0, false
	}
	err := joinAndBecome(args[1], args[2:])
	fmt.Fprintf(os.Stderr, "%s: %v\n", groupRole, err)
	return 126, true
}

// groupRole is a process that joins a control group and becomes a program there,
// so that all of the program is in the group from its first instruction on.
const groupRole = "in-group"

// joinAndBecome does not return unless it fails.
func joinAndBecome(group string, argv []string) error {
	procs := filepath.Join(group, "cgroup.procs")
	if err := os.WriteFile(procs, []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		return fmt.Errorf("join control group: %w", err)
	}
	path, err := proc.LookPath(argv[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("start %s: %w", argv[0], unix.Exec(path, argv, os.Environ()))
}
