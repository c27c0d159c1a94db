#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Installs what building and testing need and is missing, by package name from
# this machine's own apt sources.
set -eu

here=$(dirname "$(readlink -f "$0")")
export DEBIAN_FRONTEND=noninteractive

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# A fresh machine has no package lists.
has_lists() {
	apt-cache show --no-all-versions linux-image-amd64 qemu-system-x86 \
		>/dev/null 2>&1
}

missing_packages() {
	sed 's/#.*//; /^$/d' "$here/packages" | while read -r package; do
		is_installed "$package" || echo "$package"
	done
	# The metapackage linux-headers-amd64 may be installed in an older
	# version, which depends on the headers of an older kernel.
	headers=linux-headers-$("$here/kernel-release")
	is_installed "$headers" || echo "$headers"
}

require_root() {
	if [ "$(id -u)" != 0 ]; then
		echo "$0: $1: run this as root" >&2
		exit 1
	fi
}

if ! has_lists; then
	require_root "package lists are missing"
	echo "Updating the package lists"
	apt-get -q update
fi
missing=$(missing_packages)
if [ -z "$missing" ]; then
	echo "All packages are installed"
	exit 0
fi
# shellcheck disable=SC2086 # a list of names
set -- $missing
require_root "missing packages: $*"
echo "Installing $*"
apt-get -q -y --no-install-recommends install "$@"
