package proc

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Sbin gives the directories where administrators' programs are (mkfs, losetup,
// depmod). Ordinary users of Debian do not have them in their PATH.
func Sbin() []string { return []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} }

// LookPath finds a program in PATH and then in Sbin, and gives its path.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	if !strings.Contains(name, "/") {
		for _, dir := range Sbin() {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("find program %s: not installed; run: spindle doctor --install (%w)", name, err)
}
