package host

import (
	"os"
	"strings"
)

// Manager is a package manager.
type Manager string

// The package managers whose package names are known here.
const (
	Apt    Manager = "apt"
	Dnf    Manager = "dnf"
	Pacman Manager = "pacman"
)

// Distribution is what os-release(5) says.
type Distribution struct {
	ID      string  `json:"id"`   // "debian"; "" if there is no os-release
	Name    string  `json:"name"` // "Debian GNU/Linux 12 (bookworm)"
	Manager Manager `json:"manager,omitempty"`
}

// family gives the package manager of a distribution by its ID or one of its
// ID_LIKE. Programs do not tell: apt is packaged for Fedora and Arch too.
var family = map[string]Manager{
	"debian": Apt, "ubuntu": Apt,
	"fedora": Dnf, "rhel": Dnf, "centos": Dnf,
	"arch": Pacman, "archlinux": Pacman,
}

func readDistribution(env Env) Distribution {
	text, err := os.ReadFile(env.path("/etc/os-release"))
	if err != nil {
		text, err = os.ReadFile(env.path("/usr/lib/os-release"))
	}
	if err != nil {
		return Distribution{Name: "unknown distribution"}
	}
	v := parseRelease(string(text))
	d := Distribution{ID: v["ID"], Name: v["PRETTY_NAME"]}
	if d.ID == "" {
		d.ID = "linux" // the default that os-release(5) gives
	}
	if d.Name == "" {
		d.Name = d.ID
	}
	for _, id := range append([]string{d.ID}, strings.Fields(v["ID_LIKE"])...) {
		if m, ok := family[id]; ok {
			d.Manager = m
			break
		}
	}
	return d
}

// parseRelease reads the assignments of os-release(5), which a shell can read
// too. Lines that are none are passed over, as systemd does.
func parseRelease(text string) map[string]string {
	v := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		v[name] = unquote(value)
	}
	return v
}

// unquote undoes a shell's quoting of one word.
func unquote(s string) string {
	var b strings.Builder
	var quote byte // the open one, or 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == c && quote != 0:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(s):
			i++
			if quote == '"' && !strings.ContainsRune("$\"\\`", rune(s[i])) {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
