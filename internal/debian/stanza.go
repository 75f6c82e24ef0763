package debian

import "strings"

// stanza is one paragraph of a control file: fields by their names as written.
// Continuation lines keep their newlines and lose one leading space.
type stanza map[string]string

// parseStanzas reads control files (deb822(5)) as apt-cache show and dpkg's
// status file give them. Lines that are no field are skipped: both come from
// programs that have checked them.
func parseStanzas(text string) []stanza {
	var out []stanza
	current, last := stanza{}, ""
	end := func() {
		if len(current) > 0 {
			out = append(out, current)
		}
		current, last = stanza{}, ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
			end()
		case line[0] == ' ' || line[0] == '\t':
			if last != "" {
				current[last] += "\n" + line[1:]
			}
		case line[0] == '#':
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok || name == "" {
				continue
			}
			last = name
			current[name] = strings.TrimSpace(value)
		}
	}
	end()
	return out
}

// Installed reads dpkg's status file and gives the version of every package
// that is installed, by its name.
func Installed(status string) map[string]string {
	out := make(map[string]string)
	for _, s := range parseStanzas(status) {
		if s["Status"] == "install ok installed" {
			out[s["Package"]] = s["Version"]
		}
	}
	return out
}

// dependencies gives the packages that a Depends field names, the first of
// each choice, without architecture and with the version if it must be equal.
func dependencies(depends string) []dependency {
	var out []dependency
	for _, clause := range strings.Split(depends, ",") {
		first, _, _ := strings.Cut(clause, "|")
		name, relation, _ := strings.Cut(strings.TrimSpace(first), " ")
		name, _, _ = strings.Cut(name, ":")
		if name == "" {
			continue
		}
		d := dependency{name: name}
		if inside, ok := strings.CutPrefix(strings.TrimSpace(relation), "(= "); ok {
			d.version = strings.TrimSpace(strings.TrimSuffix(inside, ")"))
		}
		out = append(out, d)
	}
	return out
}

type dependency struct{ name, version string }
