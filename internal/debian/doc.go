// Package debian reads Debian's archive with an apt of spindle's own.
//
// An [Archive] says where packages come from; a [Root] is a private directory
// of apt's configuration, lists and caches for it. Nothing of the host's own
// apt is read or written: neither /etc/apt nor /var/lib/apt nor the host's
// distribution have a say, and an ordinary user will do. What it takes are the
// programs apt-get, apt-cache and dpkg-deb, and Debian's keyring. A proxy in
// the environment (http_proxy, https_proxy) is used, as apt does.
//
// It promises that what Fetch gives is what Debian signed: apt checks the
// signature of the release against the keyring, the lists against the release,
// and the package against the lists. There is no way to switch that off.
//
// Lists are renewed at most every six hours, and when a package is not found.
// If they cannot be renewed, those that are there are used, and the person who
// waits is told. So two runs may see different packages under one name; a
// version, or a snapshot, pins what is meant.
//
// It does not install anything and does not solve dependencies.
package debian
