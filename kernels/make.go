package kernels

import (
	"context"
	"fmt"

	"spindle/internal/debian"
	"spindle/internal/fault"
	"spindle/internal/progress"
	"spindle/internal/store"
)

// Env is what making a kernel takes from its surroundings.
type Env struct {
	Store   *store.Store
	Archive debian.Archive
	AptDir  string // for debian.OpenRoot
	Dir     string // repositories and object trees of builds; "" keeps them beside the store
	Log     *progress.Log
}

// recipe changes when the same source makes another entry than before.
const recipe = "1"

// Make gives the kernel of a source. It is made if it is not in the store yet;
// a package whose version is pinned is then taken from there without a look at
// the archive, which may have dropped it.
func Make(ctx context.Context, env Env, s Source) (Artifact, error) {
	if err := s.Validate(); err != nil {
		return Artifact{}, fault.Planf("kernel %s: %w", s, err)
	}
	make := fromPath
	switch {
	case s.Builds():
		make = fromCode
	case s.Deb != "":
		make = fromDeb
	}
	dir, err := make(ctx, env, s)
	if err != nil {
		return Artifact{}, fmt.Errorf("%s: %w", s, err)
	}
	return load(dir)
}
