#!/bin/sh
# Makes the signed archive that the tests serve. The key is made for it and
# thrown away, so the archive is made as a whole. Its .deb files hold only
# their names: apt checks hashes, not contents. The signatures are of the past,
# for hosts whose clock is slow.
set -eu
cd "$(dirname "$0")"
rm -rf archive
mkdir -p archive
export GNUPGHOME=$(mktemp -d)
trap 'rm -rf "$GNUPGHOME"' EXIT

key() { # UID FILE
	gpg --batch --quiet --faked-system-time 20240101T000000 --passphrase '' --quick-generate-key "$1" rsa3072 sign never
	gpg --quiet --export "$1" >"$2"
}
key archive@test archive/keyring.gpg
key stranger@test archive/stranger.gpg

package() { # MIRROR SUITE NAME VERSION [DEPENDS]
	mkdir -p "archive/$1/pool" "archive/$1/dists/$2/main/binary-amd64"
	deb=pool/$3_$4_amd64.deb
	echo "$3 $4" >"archive/$1/$deb"
	{
		echo "Package: $3"
		echo "Version: $4"
		echo "Architecture: amd64"
		echo "Maintainer: nobody <nobody@test>"
		if [ $# -gt 4 ]; then echo "Depends: $5"; fi
		echo "Filename: $deb"
		echo "Size: $(stat -c %s "archive/$1/$deb")"
		echo "SHA256: $(sha256sum "archive/$1/$deb" | cut -d' ' -f1)"
		echo "Description: a package"
		echo " with more to say about it"
		echo
	} >>"archive/$1/dists/$2/main/binary-amd64/Packages"
}

release() { # MIRROR SUITE [KEY]
	dir=archive/$1/dists/$2
	list=main/binary-amd64/Packages
	{
		echo "Origin: test"
		echo "Suite: $2"
		echo "Codename: $2"
		echo "Date: Mon, 01 Jan 2024 00:00:00 UTC"
		echo "Architectures: amd64"
		echo "Components: main"
		echo "SHA256:"
		echo " $(sha256sum "$dir/$list" | cut -d' ' -f1) $(stat -c %s "$dir/$list") $list"
	} >"$dir/Release"
	gpg --batch --quiet --faked-system-time 20240101T000000 --yes --local-user "${3:-archive@test}" --clearsign --output "$dir/InRelease" "$dir/Release"
}

image='kmod, linux-base, initramfs-tools (>= 0.120+deb8u2) | linux-initramfs-tool'
for abi in 6.1.0-9 6.1.0-10; do
	version=6.1.${abi#6.1.0-}0-1
	package main old linux-image-$abi-amd64 $version "$image"
	package main old linux-image-$abi-amd64-dbg $version
	package main old linux-image-$abi-amd64-unsigned $version "$image"
	package main old linux-image-$abi-cloud-amd64 $version "$image"
	package main old linux-image-$abi-rt-amd64 $version "$image"
done
package main old linux-image-amd64 6.1.100-1 'linux-image-6.1.0-10-amd64 (= 6.1.100-1)'
package main old hello 1.0-1
release main old

package security old-security linux-image-6.1.0-11-amd64 6.1.110-1 "$image"
package security old-security linux-image-amd64 6.1.110-1 'linux-image-6.1.0-11-amd64 (= 6.1.110-1)'
package security old-security linux-image-6.12.9+deb12-amd64 6.12.9-1~deb12u1 "$image"
package security old-security linux-image-6.12-amd64 6.12.9-1~deb12u1 'linux-image-6.12.9+deb12-amd64 (= 6.12.9-1~deb12u1)'
release security old-security

package main new linux-image-6.12.10+deb13-amd64 6.12.10-1 "$image"
package main new linux-image-6.12.10+deb13-cloud-amd64 6.12.10-1 "$image"
package main new linux-image-6.12.9+deb13-cloud-amd64 6.12.9-1 "$image"
package main new linux-image-amd64 6.12.10-1 'linux-image-6.12.10+deb13-amd64 (= 6.12.10-1)'
package main new hello 1.1~rc1-1
release main new

package main foreign hello 9.9
release main foreign stranger@test

package main unsigned hello 9.9
release main unsigned
rm archive/main/dists/unsigned/InRelease
