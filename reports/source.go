package reports

import (
	"fmt"
	"path"

	"spindle/reports/record"
)

// source is what a report is made of: a run, several runs of one plan, or
// either of them with another axis compared.
type source struct {
	manifest record.Manifest
	setups   []record.Arm // as they were run; manifest's arms may be of another axis
	samples  []record.Sample
	attempts []record.Attempt
	planned  int
	places   map[spot]place
	runs     []member         // more than one where runs were merged
	decision *record.Decision // where a run that repeats by itself ended
	turned   string           // the axis that is compared instead of the plan's arms
	warnings []string         // of the run directories
}

// member is one of the runs of a source.
type member struct {
	name     string // of its directory
	manifest record.Manifest
	blocks   int // its blocks come after those of the runs before it
}

// spot is where a sample stands in the layout.
type spot struct {
	block int
	cell  record.Cell
}

// place is where a sample's raw files lie: in this host's file tree, and as
// the report names it.
type place struct{ dir, name string }

// load reads a run.
func load(run *record.Run) (source, error) {
	s := source{manifest: run.Manifest(), planned: run.Planned(), places: map[spot]place{}}
	s.setups = s.manifest.Arms
	s.runs = []member{{path.Base(run.Dir()), s.manifest, len(s.manifest.Blocks)}}
	var err error
	if s.samples, err = run.Samples(); err != nil {
		return source{}, err
	}
	if s.attempts, err = run.Attempts(); err != nil {
		return source{}, err
	}
	for _, x := range s.samples {
		if err := run.Intact(x); err != nil {
			return source{}, err
		}
		s.places[spot{x.Block, x.Cell}] = place{run.SampleDir(x.Block, x.Cell), path.Join("samples", fmt.Sprintf("b%d", x.Block), x.Slug())}
	}
	if d, ok := run.Decision(); ok {
		s.decision = &d
		s.manifest.Blocks = s.manifest.Blocks[:d.Blocks]
	}
	if err := run.PlanFile(); err != nil {
		s.warnings = append(s.warnings, err.Error())
	}
	return s, nil
}
