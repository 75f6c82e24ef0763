package kernels

import (
	"context"
	"errors"

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
	Jobs    int    // of a build at once; 0 is one for each CPU
	Name    string // of the kernel in the plan, for the person who waits; may be ""
	Log     *progress.Log

	// NoBuild has Make give ErrNotBuilt for source code that is not built yet,
	// once all was looked at that shows without: the source, the series, the
	// names in the configuration, the compiler.
	NoBuild bool
}

// ErrNotBuilt is for kernels that nobody has built, where Env says not to.
var ErrNotBuilt = errors.New("not built yet")

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
	case s.Arch == "um":
		make = fromProgram
	}
	dir, err := make(ctx, env, s)
	if err != nil {
		return Artifact{}, s.of(err)
	}
	return load(dir)
}
