package pipeline

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed plans/*.yaml
var plans embed.FS

// Embedded gives the text of a plan that comes with spindle.
func Embedded(name string) ([]byte, bool) {
	text, err := plans.ReadFile(path.Join("plans", name+".yaml"))
	return text, err == nil
}

// EmbeddedNames lists the plans that come with spindle, sorted.
func EmbeddedNames() []string {
	entries, err := plans.ReadDir("plans")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names) // without the suffix, which sorts after a dash
	return names
}
