package fiemap

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

// roleName is the word by which spindle-guest tells of files, also to a person in
// a shell of the guest.
const roleName = "extents"

// Role takes over a process that was started as "extents FILE...": it prints a
// line of JSON for each file.
func Role(_ context.Context, _ []string, args []string) (code int, ok bool) {
	if len(args) < 2 || args[0] != roleName {
		return 0, false
	}
	out := json.NewEncoder(os.Stdout)
	for _, path := range args[1:] {
		l, err := File(path)
		if err == nil {
			err = out.Encode(struct {
				Path string `json:"path"`
				Layout
			}{path, l})
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", roleName, err)
			return 1, true
		}
	}
	return 0, true
}
