package drive

import (
	"errors"
	"slices"

	"spindle/internal/fault"
	"spindle/pipeline/drive/passthrough"
)

// OfHost says whether the drive is a disk of the host.
func (s Spec) OfHost() bool { return s.Passthrough != "" }

// HostDisk gives what is passed through.
func (s Spec) HostDisk() passthrough.Spec {
	return passthrough.Spec{Path: s.Passthrough, Destroy: s.Destroy, DestroyContents: s.DestroyContents}
}

// resolveHost resolves a drive that is a disk of the host. Its size, speed and
// cache are what the host's kernel says when it is taken; a plan is read on any
// host.
func (s Spec) resolveHost() (resolved, error) {
	fail := func(format string, args ...any) (resolved, error) {
		return resolved{}, fault.Planf("drive: "+format, args...)
	}
	for _, other := range []struct {
		key string
		set bool
	}{
		{"profile", s.Profile != ""}, {"size", s.Size != 0}, {"media-rate", s.MediaRate != 0}, {"scaled-media-rate", s.ScaledMediaRate != 0}, {"write-cache", s.WriteCache != ""},
		{"count", s.Count != 0}, {"raid", s.RAID != ""}, {"md", s.MD != nil}, {"stripe", s.Stripe != 0},
		{"controller", s.Controller != ""}, {"controller-cache", s.ControllerCache != 0}, {"faults", len(s.Faults) > 0},
	} {
		if other.set {
			return fail("%s: a disk of the host is as it is", other.key)
		}
	}
	if err := s.HostDisk().Validate(); err != nil {
		return fail("%w", err)
	}
	r := resolved{Spec: s}
	if r.Bus == "" {
		r.Bus = AHCI
	}
	switch {
	case !slices.Contains(buses, r.Bus):
		return fail("bus %q: not one of %s", s.Bus, joined(buses))
	case s.QueueDepth < 0:
		return fail("queue-depth %d: negative", s.QueueDepth)
	}
	return r, nil
}

// unhosted says what only a disk of the host can have.
func (s Spec) unhosted() error {
	switch {
	case s.Destroy != "":
		return errors.New("destroy: only a disk of the host is destroyed: passthrough is missing")
	case s.DestroyContents:
		return errors.New("destroy-contents: only a disk of the host is destroyed: passthrough is missing")
	}
	return nil
}
