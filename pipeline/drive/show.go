package drive

import (
	"math/rand/v2"
	"path"
	"time"

	"spindle/internal/fault"
	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

// Info is what is to be said of a drive: its parameters with their sources, and
// what its model does.
type Info struct {
	Profile string    `json:"profile"`
	Title   string    `json:"title"`
	Note    string    `json:"note,omitempty"`
	Params  []Sourced `json:"params"`
	Timed   bool      `json:"timed"` // the rest is there only then

	// By arithmetic; 0 for what the drive has not.
	SeekRead        time.Duration `json:"average_seek_read_ns,omitempty"` // over all pairs of tracks
	SeekWrite       time.Duration `json:"average_seek_write_ns,omitempty"`
	HalfTurn        time.Duration `json:"half_revolution_ns,omitempty"`
	SequentialOuter unit.Rate     `json:"sequential_outer_bytes_per_second,omitempty"`
	SequentialInner unit.Rate     `json:"sequential_inner_bytes_per_second,omitempty"`
	RandomRead      time.Duration `json:"random_read_4k_ns,omitempty"` // one at a time
	// By running the model in virtual time.
	Depth          int     `json:"depth,omitempty"`
	RandomReadDeep float64 `json:"random_reads_4k_per_second_at_depth,omitempty"`
}

// Sourced is a parameter and where its value comes from.
type Sourced struct {
	Name   string `json:"name"`
	Text   string `json:"value"`
	Source string `json:"source,omitempty"`
}

// Text gives the file of the profile.
func (s Spec) Text() ([]byte, error) {
	if !IsFile(s.Profile) {
		data, err := profiles.ReadFile(path.Join("profiles", s.Profile+".yaml"))
		if err != nil {
			return nil, fault.Planf("drive: %w", s.Validate())
		}
		return data, nil
	}
	s, err := s.ReadProfile(".")
	return []byte(s.ProfileText), err
}

// deepest is NCQ's depth, at which drives are compared.
const deepest = 31

// Show works out what there is to say of s. Errors are faults of the plan.
func (s Spec) Show() (Info, error) {
	r, err := s.resolve()
	if err != nil {
		return Info{}, err
	}
	info := Info{Profile: r.Spec.Profile, Title: r.Title, Note: r.Note, Timed: r.timed()}
	params := r.Spec.Params()
	if !r.timed() {
		params = r.params()
	}
	for _, p := range params {
		from := source(r.Sources, p.Name)
		if from == "" {
			from = source(r.controller.Sources, p.Name)
		}
		info.Params = append(info.Params, Sourced{p.Name, p.Text, from})
	}
	if !r.timed() {
		return info, nil
	}
	info.SequentialOuter, info.SequentialInner = s.SequentialRate(), s.SequentialRate()
	info.RandomRead = s.RandomReadMean4K()
	if r.Disk != nil {
		info.SeekRead, info.SeekWrite = r.Disk.Seek.Average(false), r.Disk.Seek.Average(true)
		info.HalfTurn = time.Duration(float64(time.Minute) / r.Disk.RPM / 2)
		inner := r.Disk.InnermostRate()
		if r.array {
			inner *= unit.Rate(r.RAID.Data(r.Count))
		}
		info.SequentialInner = min(info.SequentialOuter, inner)
	}
	info.Depth = min(r.QueueDepth, deepest)
	info.RandomReadDeep, err = r.random(info.Depth)
	return info, err
}

// random is how many random reads of 4 KiB a second the model does with depth of
// them in it, over two thousand.
func (r resolved) random(depth int) (float64, error) {
	m, err := r.bare(1)
	if err != nil {
		return 0, err
	}
	const n = 2000
	rng := rand.New(rand.NewPCG(1, 1))
	var now time.Duration
	id := uint64(0)
	add := func() {
		id++
		m.Arrive(now, timing.Request{ID: id, Op: timing.Read, LBA: rng.Int64N(int64(r.Size)/4096) * 8, Sectors: 8})
	}
	for range depth {
		add()
	}
	for done := 0; done < n; {
		due, ok := m.Next()
		if !ok {
			break
		}
		now = max(now, due)
		for range m.Advance(now) {
			done++
			add()
		}
	}
	return n / now.Seconds(), nil
}
