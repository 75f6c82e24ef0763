package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"unicode/utf8"
)

// hashText gives the sha256 of a text in hex.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// decodeManifest reads a manifest and refuses one that a report could not be
// made from.
func decodeManifest(data []byte) (Manifest, error) {
	// The number first: the rest may have another shape.
	head, err := decode[struct {
		Format int `json:"format"`
	}](data)
	switch {
	case err != nil:
		return Manifest{}, err
	case head.Format > Format:
		return Manifest{}, fmt.Errorf("run has format %d and this spindle reads up to %d: read it with a later spindle", head.Format, Format)
	case head.Format < 1:
		return Manifest{}, fmt.Errorf("run has format %d: not a manifest of spindle", head.Format)
	}
	m, err := decode[Manifest](data)
	if err != nil {
		return Manifest{}, err
	}
	return m, m.check()
}

// check says why m is not a whole manifest.
func (m *Manifest) check() error {
	if !utf8.ValidString(m.Plan.Text) {
		return errors.New("plan is not UTF-8 text, so it cannot be kept verbatim")
	}
	if m.Plan.Hash != hashText(m.Plan.Text) {
		return errors.New("plan's hash does not match its text: the manifest was edited")
	}
	kernels := map[string]bool{}
	for _, k := range m.Kernels {
		if kernels[k.Name] {
			return fmt.Errorf("kernel %q is listed twice", k.Name)
		}
		kernels[k.Name] = true
	}
	if len(m.Arms) == 0 {
		return errors.New("run has no arms")
	}
	arms := map[string]bool{}
	for _, a := range m.Arms {
		switch {
		case a.Name == "":
			return errors.New("an arm has no name")
		case arms[a.Name]:
			return fmt.Errorf("arm %q is listed twice", a.Name)
		case !kernels[a.Kernel]:
			return fmt.Errorf("arm %q has kernel %q, which is not in the manifest", a.Name, a.Kernel)
		}
		arms[a.Name] = true
	}
	conditions := map[Condition]bool{}
	for _, c := range m.Conditions {
		if conditions[c] {
			return fmt.Errorf("condition %q is listed twice", c)
		}
		conditions[c] = true
	}
	for i, b := range m.Blocks {
		cells := map[Cell]bool{}
		for _, c := range b {
			switch {
			case !arms[c.Arm]:
				return fmt.Errorf("block %d has arm %q, which is not in the manifest", i+1, c.Arm)
			case !conditions[c.Condition]:
				return fmt.Errorf("block %d has condition %q, which is not in the manifest", i+1, c.Condition)
			case cells[c]:
				return fmt.Errorf("block %d has %q twice", i+1, c)
			}
			cells[c] = true
		}
	}
	for _, w := range m.Workloads {
		for _, i := range w.Metrics {
			if err := i.check(); err != nil {
				return fmt.Errorf("workload %q: %w", w.Name, err)
			}
		}
	}
	return nil
}

func (i MetricInfo) check() error {
	switch {
	case i.Name == "":
		return errors.New("a metric has no name")
	case i.Direction != Lower && i.Direction != Higher:
		return fmt.Errorf("metric %q has direction %q: want %q or %q", i.Name, i.Direction, Lower, Higher)
	case !(i.Resolution >= 0) || math.IsInf(i.Resolution, 0):
		return fmt.Errorf("metric %q has resolution %v", i.Name, i.Resolution)
	}
	return nil
}

// decodeSample reads a sample by itself; whether it belongs to the run is for
// the caller.
func decodeSample(data []byte) (Sample, error) {
	s, err := decode[Sample](data)
	if err != nil {
		return Sample{}, err
	}
	return s, s.check()
}

// check says why s cannot be counted.
func (s *Sample) check() error {
	switch {
	case s.Block < 1:
		return fmt.Errorf("sample has block %d: blocks count from 1", s.Block)
	case s.Attempt < 1:
		return fmt.Errorf("sample has attempt %d: attempts count from 1", s.Attempt)
	case s.Outcome.Kind == Machinery:
		return fmt.Errorf("sample failed in the machinery (%s): such attempts are abandoned, never counted", s.Outcome.Reason)
	case s.Outcome.Kind != OK && s.Outcome.Kind != KernelFault:
		return fmt.Errorf("sample has outcome %q: want %q or %q", s.Outcome.Kind, OK, KernelFault)
	case s.Outcome.Log != "" && !fs.ValidPath(s.Outcome.Log):
		return fmt.Errorf("sample's outcome points to %q, which is not in its directory", s.Outcome.Log)
	case s.Outcome.Line < 0:
		return fmt.Errorf("sample's outcome points to line %d", s.Outcome.Line)
	}
	for name := range s.Files {
		if !fs.ValidPath(name) {
			return fmt.Errorf("sample has a file %q, which is not in its directory", name)
		}
	}
	names := map[string]bool{}
	for _, m := range s.Metrics {
		switch err := m.MetricInfo.check(); {
		case err != nil:
			return err
		case names[m.Name]:
			return fmt.Errorf("metric %q is given twice", m.Name)
		case math.IsNaN(m.Value) || math.IsInf(m.Value, 0):
			return fmt.Errorf("metric %q has value %v: leave out what was not measured", m.Name, m.Value)
		}
		names[m.Name] = true
	}
	return nil
}
