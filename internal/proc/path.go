package proc

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// sbin is where administrators' programs are (mkfs, losetup, depmod). Ordinary
// users of Debian do not have it in their PATH.
var sbin = [...]string{"/usr/local/sbin", "/usr/sbin", "/sbin"}

// LookPath finds a program in PATH and in the sbin directories, and gives its
// path.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	if !strings.Contains(name, "/") {
		for _, dir := range sbin {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("find program %s: not installed; run: spindle doctor --install (%w)", name, err)
}
