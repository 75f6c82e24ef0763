package pipeline

import (
	"context"

	"spindle/kernels"
)

// TrySeries says which patches of a source apply; see [kernels.TrySeries]. Paths
// are relative to the plan's file, as those in it.
func (p *Plan) TrySeries(ctx context.Context, env Env, s kernels.Source) ([]kernels.Trial, error) {
	return kernels.TrySeries(ctx, env.kernels(p), env.place(p, s))
}
