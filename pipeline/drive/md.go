package drive

import (
	"fmt"
	"slices"

	"spindle/internal/fault"
	"spindle/internal/unit"
)

// MD makes an array of Count drives in the guest, by mdadm, of which Linux sees
// each: software RAID, with its stripe cache and its reads before writes, is
// part of the kernel under test.
type MD struct {
	// Level is 0, 1, 5, 6 or 10.
	Level string `yaml:"level"`
	// Chunk is what one member holds of a stripe; 512 KiB, mdadm's own default,
	// unless said otherwise. RAID 1 has none.
	Chunk unit.Size `yaml:"chunk,omitempty"`
}

const defaultChunk = 512 * unit.KiB

// mdLeast is how many members a level takes at least, and how many of n hold
// data (twice as many as needed for a half).
var mdLeast = map[string]struct {
	members int
	halves  func(n int) int
}{
	"0":  {2, func(n int) int { return 2 * n }},
	"1":  {2, func(int) int { return 2 }},
	"5":  {3, func(n int) int { return 2 * (n - 1) }},
	"6":  {4, func(n int) int { return 2 * (n - 2) }},
	"10": {2, func(n int) int { return n }}, // two copies, also of an odd number
}

func (m MD) validate(count int) error {
	level, ok := mdLeast[m.Level]
	switch {
	case !ok:
		return fmt.Errorf("md: level %q: not one of 0, 1, 5, 6, 10", m.Level)
	case count < level.members || count > maxCount:
		return fmt.Errorf("count %d: md RAID %s takes %d to %d", count, m.Level, level.members, maxCount)
	case m.Level == "1" && m.Chunk != 0:
		return fmt.Errorf("md: chunk %s: RAID 1 has no chunks", m.Chunk)
	case m.Chunk != 0 && (m.Chunk < 4*unit.KiB || m.Chunk > 16*unit.MiB || m.Chunk&(m.Chunk-1) != 0):
		return fmt.Errorf("md: chunk %s: not a power of two from 4KiB to 16MiB", m.Chunk)
	}
	return nil
}

// Filled gives m with its defaults.
func (m MD) Filled() MD {
	if m.Chunk == 0 && m.Level != "1" {
		m.Chunk = defaultChunk
	}
	return m
}

// size is what an array of so many members has at least. mdadm keeps up to a
// thousandth of each for its superblock and for what may come, and no more than
// 128 MiB (super1.c of mdadm), and rounds to chunks.
func (m MD) size(member unit.Size, count int) unit.Size {
	usable := member - min(member/1024, 128*unit.MiB) - 4*unit.MiB
	chunk := max(m.Chunk, unit.MiB)
	usable = max(0, usable/chunk*chunk)
	return usable * unit.Size(mdLeast[m.Level].halves(count)) / 2 / alignment * alignment
}

// Members gives the drives that QEMU is to present: of md RAID each member, of
// any other drive itself.
func (s Spec) Members() []Spec {
	if s.MD == nil {
		return []Spec{s}
	}
	return slices.Repeat([]Spec{s.member()}, s.Count)
}

func (s Spec) member() Spec {
	s.Count, s.MD = 0, nil
	return s
}

// resolveMD gives the member, with the size of the array.
func (s Spec) resolveMD() (resolved, error) {
	fail := func(err error) (resolved, error) {
		return resolved{}, fault.Planf("drive %s: %w", s.Profile, err)
	}
	if s.RAID != "" {
		return fail(fmt.Errorf("md: the controller has a RAID of its own: take raid out, or md"))
	}
	if err := s.MD.validate(s.Count); err != nil {
		return fail(err)
	}
	r, err := s.member().resolve()
	if err != nil {
		return r, err
	}
	md := s.MD.Filled()
	r.Size, r.Count, r.MD = md.size(r.Size, s.Count), s.Count, &md
	if r.Size == 0 {
		return fail(fmt.Errorf("size %s: too small for a member", s.Size))
	}
	return r, nil
}

// describeMD is Describe for md RAID.
func (s Spec) describeMD(md *MD) string {
	text := fmt.Sprintf("md RAID %s of %d", md.Level, s.Count)
	if md.Chunk != 0 {
		text += ", chunk " + md.Chunk.String()
	}
	return text + ", each " + s.member().Describe()
}
