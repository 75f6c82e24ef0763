package workloads

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"spindle/internal/proc"
)

// own runs one of the programs that spindle-guest is itself and reads the report
// that it leaves.
func (r *run) own(ctx context.Context, options interface{ Args() ([]string, error) }, file string, report any) error {
	args, err := options.Args()
	if err != nil {
		return err
	}
	self := r.sys.Self
	err = r.execute(ctx, proc.Cmd{Path: self[0], Args: append(slices.Clone(self[1:]), args...), Dir: r.dir})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, report)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(file), err)
	}
	return nil
}

// dropCaches empties the page cache, of what is clean in it.
func (r *run) dropCaches() error {
	if err := os.WriteFile(r.sys.sysctl("vm.drop_caches"), []byte("3\n"), 0); err != nil {
		return fmt.Errorf("drop the page cache: %w", err)
	}
	return nil
}
