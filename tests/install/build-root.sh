#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Makes sure that the cache holds a fresh Debian root with what DKMS needs to build
# for the kernel under test, and prints its directory.  It is to be copied, not used.
set -eu

here=$(dirname "$(readlink -f "$0")")
vm=$here/../vm
cache=$("$vm/cache-directory")
release=$("$vm/kernel-release")
packages="dkms gcc libc6-dev linux-headers-$release make openssl systemd"

inputs() {
	# shellcheck disable=SC2086 # a list of names
	apt-cache policy $packages | grep -E '^[^ ]|Candidate:'
	sha256sum <"$here/build-root.sh"
}

hash=$(inputs | sha256sum | cut -c 1-16)
root=$cache/dkms-root-$hash
exec 9>"$cache/dkms-root-lock"
flock 9
if [ ! -d "$root" ]; then
	work=$(mktemp -d "$cache/work.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' INT TERM
	"$vm/debian-sources" >"$work/sources"
	# Proxies and the like.
	apt-config dump Acquire >"$work/apt.conf"
	mmdebstrap --quiet --mode=root --variant=minbase \
		--aptopt="$work/apt.conf" \
		--aptopt='APT::Install-Recommends "false"' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--include="$(echo "$packages" | tr ' ' ',')" \
		'' "$work/root" "$work/sources" >&2
	find "$cache" -maxdepth 1 -name 'dkms-root-?*' -type d -mtime +7 \
		-exec rm -rf {} +
	mv "$work/root" "$root"
fi
touch "$root"
echo "$root"
