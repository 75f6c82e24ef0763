package drive

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"spindle/internal/unit"
	"spindle/pipeline/drive/disk"
	"spindle/pipeline/drive/link"
	"spindle/pipeline/drive/raid"
	"spindle/pipeline/drive/ssd"
)

// profiles are the drives, and controllers, that everybody has, one file each.
//
//go:embed profiles/*.yaml controllers/*.yaml
var profiles embed.FS

// profile is a kind of drive. Exactly one of Disk, SSD and Raw is there.
type profile struct {
	Title string `yaml:"title"`
	// Note is a warning that goes with every description of the drive.
	Note string `yaml:"note,omitempty"`
	// Sources says where parameters come from, by name or by the start of
	// several names: "seek" for "seek.read.a-ms".
	Sources map[string]string `yaml:"sources,omitempty"`
	OnBus   Bus               `yaml:"bus,omitempty"` // "" is ahci

	Disk *disk.Profile `yaml:"disk,omitempty"`
	SSD  *ssd.Profile  `yaml:"ssd,omitempty"`
	Raw  *rawProfile   `yaml:"raw,omitempty"`

	USB *link.Profile `yaml:"usb,omitempty"` // what Disk or SSD is behind
}

// rawProfile is a drive without timing.
type rawProfile struct {
	Capacity unit.Size `yaml:"capacity"`
}

// controller is a kind of RAID controller.
type controller struct {
	Title      string            `yaml:"title"`
	Sources    map[string]string `yaml:"sources,omitempty"`
	Controller raid.Controller   `yaml:"controller"`
}

// rawDepth is the queue depth that a drive without timing offers: NCQ's.
const rawDepth = 31

func (p profile) capacity() unit.Size {
	switch {
	case p.Disk != nil:
		return p.Disk.Capacity
	case p.SSD != nil:
		return p.SSD.Capacity
	}
	return p.Raw.Capacity
}

func (p profile) maxDepth() int {
	switch {
	case p.Disk != nil:
		return p.Disk.Queue.Depth
	case p.SSD != nil:
		return p.SSD.Queue.Depth
	}
	return rawDepth
}

// timed says whether the drive has a model.
func (p profile) timed() bool { return p.Disk != nil || p.SSD != nil }

// cache is the size of the drive's write-back cache, and whether it forgets
// without power.
func (p profile) cache() (size unit.Size, volatile bool) {
	switch {
	case p.Disk != nil:
		return p.Disk.WriteCache.Size, true
	case p.SSD != nil:
		return p.SSD.Buffer.Size, !p.SSD.Buffer.Protected
	}
	return 0, true
}

// Profiles lists the names that Spec.Profile may have, besides the path of a
// file of one's own.
func Profiles() []string { return names("profiles") }

// Controllers lists the names that Spec.Controller may have.
func Controllers() []string { return names("controllers") }

func names(dir string) []string {
	entries, err := profiles.ReadDir(dir)
	if err != nil {
		panic(err) // embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// IsFile says whether a profile is named by the path of a file and not by a
// name of [Profiles].
func IsFile(profile string) bool {
	return strings.Contains(profile, "/") || strings.HasSuffix(profile, ".yaml") || strings.HasSuffix(profile, ".yml")
}

// builtin reads a profile or a controller by name.
func builtin(dir, name string) ([]byte, error) {
	what := strings.TrimSuffix(dir, "s")
	if name == "" {
		return nil, fmt.Errorf("%s: missing; there are %s", what, strings.Join(names(dir), ", "))
	}
	data, err := profiles.ReadFile(path.Join(dir, name+".yaml"))
	if err != nil || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%s %q: unknown; there are %s", what, name, strings.Join(names(dir), ", "))
	}
	return data, nil
}

// lookup reads a built-in profile.
func lookup(name string) (profile, error) {
	data, err := builtin("profiles", name)
	if err != nil {
		return profile{}, err
	}
	return parseProfile(name+".yaml", data)
}

// lookupController reads a built-in controller.
func lookupController(name string) (controller, error) {
	var c controller
	data, err := builtin("controllers", name)
	if err != nil {
		return c, err
	}
	s := sheet{file: name + ".yaml", text: data}
	if err := s.decode(&c); err != nil {
		return c, err
	}
	return c, s.section("controller", c.Controller.Validate())
}

// parseProfile reads the text of a profile and checks that it makes a drive.
// Errors are [*FileError].
func parseProfile(file string, data []byte) (profile, error) {
	var p profile
	s := sheet{file: file, text: data}
	if err := s.decode(&p); err != nil {
		return p, clipped(err)
	}
	kinds := 0
	for _, there := range []bool{p.Disk != nil, p.SSD != nil, p.Raw != nil} {
		if there {
			kinds++
		}
	}
	var err error
	switch {
	case kinds != 1:
		return p, s.at("", "needs exactly one of the sections disk, ssd and raw")
	case p.Title == "":
		return p, s.at("", "title: missing: a few words for reports")
	case strings.ContainsAny(p.Title, "\n\r") || len(p.Title) > 60:
		return p, s.at("title", "title: more than a line of 60 characters")
	case p.OnBus != "" && !slices.Contains(buses, p.OnBus):
		return p, s.at("bus", fmt.Sprintf("bus %q: not one of %s", p.OnBus, joined(buses)))
	case p.Disk != nil:
		err = s.section("disk", p.Disk.Validate())
	case p.SSD != nil:
		err = s.section("ssd", p.SSD.Validate())
	case p.Raw.Capacity <= 0:
		err = s.section("raw", errors.New("capacity: missing"))
	}
	if err == nil && p.USB != nil {
		if !p.timed() {
			return p, s.at("usb", "usb: a drive without timing has no link")
		}
		err = s.section("usb", p.USB.Validate())
	}
	if err != nil {
		return p, err
	}
	return p, s.sources(p.Sources, p.params())
}

// clipped cuts what an error quotes of a file: where that is no profile, YAML
// takes all of it for one value.
func clipped(err error) error {
	const most = 60
	var e *FileError
	if !errors.As(err, &e) {
		return err
	}
	if says, value, ok := strings.Cut(e.Message, ", not "); ok && utf8.RuneCountInString(value) > most {
		e.Message = says + ", not " + string([]rune(value)[:most]) + "..."
	}
	if line := []rune(e.Source); len(line) > 2*most && e.Column <= most {
		e.Source = string(line[:2*most]) + "..."
	}
	return err
}

// sources checks that every source is of a parameter.
func (s sheet) sources(from map[string]string, params []Param) error {
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if !slices.ContainsFunc(params, func(p Param) bool { return covers(key, p.Name) }) {
			return s.at("sources."+key, fmt.Sprintf("sources: no parameter is called %q", key))
		}
	}
	return nil
}

// covers says whether the source key speaks of a parameter.
func covers(key, param string) bool {
	return key == param || strings.HasPrefix(param, key+".")
}

// source gives where a parameter comes from: the longest key that covers it.
func source(from map[string]string, param string) string {
	best := ""
	for key := range from {
		if covers(key, param) && len(key) > len(best) {
			best = key
		}
	}
	return from[best]
}
