#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The Debian packages, in a fresh root: installed, upgraded, removed and purged.
cd "$(dirname "$(readlink -f "$0")")/../.." || exit
. tests/install/lib.sh

release=$(tests/vm/kernel-release)
version=$(cat VERSION)
later=$version.1

# build_packages TREE: into the root
build_packages() {
	make -C "$1" deb && mv "$1"/dist/*.deb "$root/"
}

# install_packages VERSION: all of that version
install_packages() {
	(cd "$root" && echo kvm-pvperf-*_"$1"_*.deb) >"$work/packages"
	# shellcheck disable=SC2046 # a list
	in_root dpkg -i $(sed 's| | /|g; s|^|/|' "$work/packages")
}

unit() {
	in_root systemctl is-enabled kvm-pvperf-guest.service
}

tap_plan 23
make_root
copy_tree "$work/tree"
tap_ok "the packages are built" build_packages "$work/tree"

tap_ok "they install" install_packages "$version"
tap_is "DKMS has built both" "$(dkms_states)" \
	"kvm-pvperf-guest/$version: installed kvm-pvperf-host/$version: installed"
tap_is "the modules are there" "$(installed_modules)" \
	"kvm_pvperf_guest kvm_pvperf_host"
tap_is "modprobe finds that version" \
	"$(in_root modinfo -k "$release" -F version kvm_pvperf_host)" "$version"
tap_is "the service is enabled" "$(unit)" enabled
tap_is "systemd has nothing to say about it" \
	"$(in_root systemd-analyze verify kvm-pvperf-guest.service)" ""
tap_is "each has the source of its own module only" \
	"$(find "$root/usr/src" -name '*-mod' -printf '%P\n' | sort | xargs)" \
	"kvm-pvperf-guest-$version/guest-mod kvm-pvperf-host-$version/host-mod"
tap_matches "the self-test runs" \
	"$(in_root kvm-pvperf-check-host -h)" '^usage: check-host'
tap_matches "so does the script that signs" \
	"$(in_root kvm-pvperf-sign-modules -h)" '^usage: sign-modules'

echo "options kvm_pvperf_host max_events=4" >>"$root/etc/modprobe.d/kvm-pvperf.conf"
echo "$later" >"$work/tree/VERSION"
sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"$later\"/" "$work/tree/dkms.conf"
sed -i "1s/($version)/($later)/" "$work/tree/packaging/debian/changelog"
tap_ok "a later version is built" build_packages "$work/tree"
tap_ok "it upgrades them" install_packages "$later"
tap_is "DKMS has that version only" "$(dkms_states)" \
	"kvm-pvperf-guest/$later: installed kvm-pvperf-host/$later: installed"
tap_is "its source, too" "$(sources)" \
	"kvm-pvperf-guest-$later kvm-pvperf-host-$later"
tap_is "modprobe finds it" \
	"$(in_root modinfo -k "$release" -F version kvm_pvperf_host)" "$later"
tap_is "what the administrator has written is kept" \
	"$(tail -n 1 "$root/etc/modprobe.d/kvm-pvperf.conf")" \
	"options kvm_pvperf_host max_events=4"

tap_ok "the host's package is removed" in_root dpkg -r kvm-pvperf-host-dkms
tap_is "its module is gone, the other is not" \
	"$(installed_modules), $(dkms_states)" \
	"kvm_pvperf_guest, kvm-pvperf-guest/$later: installed"
tap_ok "its configuration is still there" \
	test -e "$root/etc/modprobe.d/kvm-pvperf.conf"
tap_ok "all are purged" in_root dpkg -P kvm-pvperf-host-dkms \
	kvm-pvperf-guest-dkms kvm-pvperf-common
tap_is "no module is left, nor anything of it in DKMS" \
	"$(installed_modules)$(dkms_states)$(sources)" ""
tap_is "nor any file" "$(find "$root/etc" "$root/usr" "$root/lib" "$root/var/lib" \
	-name '*kvm*pvperf*' | sed "s|^$root||")" ""
tap_is "depmod knows none" \
	"$(grep -c kvm_pvperf "$root/lib/modules/$release/modules.dep")" 0
