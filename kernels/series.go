package kernels

import (
	"context"
	"slices"

	"spindle/internal/fault"
	"spindle/kernels/tree"
)

// Trial is what became of one patch of a series when it was applied.
type Trial struct {
	Mail tree.Mail
	Err  error // why it does not apply; nil if it does
}

// TrySeries applies the patches of a source in order, and builds nothing. A
// patch that does not apply is left out and the next ones are tried without it,
// as git am --skip goes on: later patches that need it fail in turn, and those
// that do not are there to be tested.
func TrySeries(ctx context.Context, env Env, s Source) ([]Trial, error) {
	fail := func(err error) ([]Trial, error) { return nil, s.of(err) }
	if err := s.Validate(); err != nil {
		return fail(fault.Planf("%w", err))
	}
	if err := s.here(); err != nil {
		return fail(err)
	}
	t := tree.Env{Dir: env.builds(), Log: env.Log}
	base, err := s.base(ctx, env, t)
	if err != nil {
		return fail(err)
	}
	mails, err := s.mails(ctx, t, base)
	if err != nil {
		return fail(err)
	}
	out := make([]Trial, len(mails))
	var left []int // those that may apply
	for i, m := range mails {
		out[i].Mail = m
		left = append(left, i)
	}
	for {
		var these []tree.Mail
		for _, i := range left {
			these = append(these, mails[i])
		}
		code, err := base.Apply(ctx, these)
		if err == nil {
			return out, nil
		}
		at := len(code.Patches)
		if fault.Of(err) != fault.Kernel || at >= len(left) {
			return fail(err)
		}
		out[left[at]].Err = err
		left = slices.Delete(left, at, at+1)
	}
}
