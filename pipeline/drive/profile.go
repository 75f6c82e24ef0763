package drive

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/goccy/go-yaml"

	"spindle/internal/unit"
	"spindle/pipeline/drive/disk"
)

// profiles are the drives that everybody has, one file each. A comment in the
// file says where a number comes from.
//
//go:embed profiles/*.yaml
var profiles embed.FS

// profile is a kind of drive. Exactly one of its sections is there.
type profile struct {
	Title string        `yaml:"title"`
	Disk  *disk.Profile `yaml:"disk"`
	Raw   *rawProfile   `yaml:"raw"`
}

// rawProfile is a drive without timing.
type rawProfile struct {
	Capacity unit.Size `yaml:"capacity"`
}

// rawDepth is the queue depth that a drive without timing offers: NCQ's.
const rawDepth = 31

func (p profile) capacity() unit.Size {
	if p.Disk != nil {
		return p.Disk.Capacity
	}
	return p.Raw.Capacity
}

func (p profile) maxDepth() int {
	if p.Disk != nil {
		return p.Disk.Queue.Depth
	}
	return rawDepth
}

// Profiles lists the names that Spec.Profile may have.
func Profiles() []string {
	entries, err := profiles.ReadDir("profiles")
	if err != nil {
		panic(err) // embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// lookup reads a profile by name.
func lookup(name string) (profile, error) {
	if name == "" {
		return profile{}, fmt.Errorf("profile: missing; there are %s", strings.Join(Profiles(), ", "))
	}
	data, err := profiles.ReadFile(path.Join("profiles", name+".yaml"))
	if err != nil || strings.Contains(name, "/") {
		return profile{}, fmt.Errorf("profile %q: unknown; there are %s", name, strings.Join(Profiles(), ", "))
	}
	p, err := parseProfile(data)
	if err != nil {
		return profile{}, fmt.Errorf("profile %q: %w", name, err)
	}
	return p, nil
}

// parseProfile reads the text of a profile and checks that it makes a drive.
func parseProfile(data []byte) (profile, error) {
	var p profile
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&p); err != nil {
		return p, fmt.Errorf("%s", strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	switch {
	case (p.Disk == nil) == (p.Raw == nil):
		return p, fmt.Errorf("needs exactly one of the sections disk and raw")
	case p.Disk != nil:
		if err := p.Disk.Validate(); err != nil {
			return p, fmt.Errorf("disk: %w", err)
		}
	case p.Raw.Capacity <= 0:
		return p, fmt.Errorf("raw: capacity: missing")
	}
	return p, nil
}
