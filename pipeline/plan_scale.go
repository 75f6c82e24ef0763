package pipeline

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"spindle/internal/unit"
)

// Scale is how large a plan is carried out, as a share of what it says: "1/8" or
// "0.125". 0 is 1.
//
// Memory, files, the size of drives and the caches of controllers shrink
// together, so that the ratios that writeback depends on stay; with the files the
// times that workloads take, because drives stay as fast as they were, unless
// they have a scaled-media-rate, as those of plans that are run small on an
// emulated CPU. What stays as it is: the cache of a disk itself (16 MiB of a desktop disk), the kernel's
// own times (vm.dirty_expire_centisecs is 30 s) and what the kernel takes of the
// memory for itself.
type Scale float64

// maxScale bounds scales; more is a slip.
const maxScale = 64

// UnmarshalText reads a scale.
func (s *Scale) UnmarshalText(text []byte) error {
	r, ok := new(big.Rat).SetString(string(text))
	if !ok || !scaleForm.Match(text) {
		return fmt.Errorf("%q: want a number or a fraction, such as 1/8", text)
	}
	f, _ := r.Float64()
	if f <= 0 || f > maxScale {
		return fmt.Errorf("%s: want more than 0 and at most %d", text, maxScale)
	}
	*s = Scale(f)
	return nil
}

var scaleForm = regexp.MustCompile(`^[0-9]+(\.[0-9]+|/[0-9]+)?$`)

// MarshalText writes a scale as a fraction where it is one.
func (s Scale) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String is "1/8" of 0.125.
func (s Scale) String() string {
	if s == 0 {
		s = 1
	}
	if n := 1 / float64(s); s < 1 && n == float64(int64(n)) {
		return fmt.Sprintf("1/%d", int64(n))
	}
	return fmt.Sprint(float64(s))
}

// leastScaledDrive is what a drive shrinks to at most: file systems need some
// room, and none of their ratios depends on it.
const leastScaledDrive = unit.GiB

// shrink carries the plan's scale out. It is called once, before the checks.
func (c *checker) shrink() {
	p := c.plan
	f := float64(p.Scale)
	if f == 0 || f == 1 {
		return
	}
	p.Machine.Memory = wholeMiB(p.Machine.Memory, f)
	for i := range p.Arms {
		if p.Arms[i].Memory > 0 {
			p.Arms[i].Memory = wholeMiB(p.Arms[i].Memory, f)
		}
	}
	for name, d := range p.Drives {
		if d.ScaledMediaRate > 0 && f < 1 {
			d.MediaRate = d.ScaledMediaRate
		}
		if d.Size > 0 {
			d.Size = max(wholeMiB(d.Size, f), min(d.Size, leastScaledDrive))
		}
		if d.ControllerCache > 0 {
			d.ControllerCache = wholeMiB(d.ControllerCache, f)
		}
		p.Drives[name] = d
	}
	list := c.root.get("workloads")
	for i, w := range p.Workloads {
		small, err := w.Scaled(f)
		if item := list.item(i); err != nil && item != nil && !item.broken() {
			c.entry(item, "%v", err)
			continue
		}
		p.Workloads[i] = small
	}
}

func wholeMiB(s unit.Size, f float64) unit.Size {
	return max(1, unit.Size(float64(s)*f/float64(unit.MiB)+0.5)) * unit.MiB
}

// scaleLine is the plan's own scale.
var scaleLine = regexp.MustCompile(`(?m)^scale[ \t]*:.*$`)

// WithScale gives a plan's text with another scale.
func WithScale(text []byte, scale string) []byte {
	line := "scale: " + scale
	if scaleLine.Match(text) {
		return scaleLine.ReplaceAllLiteral(text, []byte(line))
	}
	s := string(text)
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return []byte(s + line + "\n")
}

// FullSize gives the plan as it is without its scale, or nil where it has none.
func (p *Plan) FullSize() *Plan {
	if p.Scale == 0 || p.Scale == 1 {
		return nil
	}
	full, err := Load(p.File, WithScale([]byte(p.Text), "1"))
	if err != nil {
		return nil // too large for something, which the scaled plan is not
	}
	return full
}
