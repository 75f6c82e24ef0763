package host

import "slices"

// InstallCommand gives the command that installs packages for needs on this
// host, with sudo in front unless root asks. It is nil if the distribution is
// not known or has none of the packages. Names are sorted, each one once.
func (r Report) InstallCommand(needs []Need) []string {
	var names []string
	for _, n := range needs {
		if name := n.Packages[r.Distribution.Manager]; name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var command []string
	switch r.Distribution.Manager {
	case Apt:
		// Recommended packages would bring a desktop's worth of QEMU.
		command = []string{"apt-get", "install", "-y", "--no-install-recommends"}
	case Dnf:
		command = []string{"dnf", "install", "-y", "--setopt=install_weak_deps=False"}
	case Pacman:
		command = []string{"pacman", "-S", "--needed", "--noconfirm"}
	}
	if !r.root {
		command = append([]string{"sudo"}, command...)
	}
	return append(command, names...)
}

// CanInstall tells whether InstallCommand may be run as it is. It is so for apt
// only; for others the command is for a person to read and run, because it was
// not tried there.
func (r Report) CanInstall() bool { return r.Distribution.Manager == Apt }
