#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# DKMS, and make's targets that install, in a fresh Debian root.
cd "$(dirname "$(readlink -f "$0")")/../.." || exit
. tests/install/lib.sh

release=$(tests/vm/kernel-release)
version=$(cat VERSION)

dkms() {
	in_root dkms "$@" -m kvm-pvperf -v "$version"
}

# loadable NAME: modprobe in the root finds it, with this version, signed by DKMS
loadable() {
	in_root modprobe -S "$release" --show-depends "$1" | grep -o "/$1\.ko.*" |
		sed 's/\.xz//; s/ $//; s/^.//'
	in_root modinfo -k "$release" -F version "$1"
	in_root modinfo -k "$release" -F signer "$1"
}

# make_in_root TARGET...
make_in_root() {
	in_root make -C /src "$@" "KERNEL_RELEASE=$release"
}

by_hand() {
	packaging/copy-source "$root/usr/src/kvm-pvperf-$version" both
	tap_ok "dkms add" dkms add
	tap_is "it is added" "$(dkms_states)" "kvm-pvperf/$version: added"
	tap_ok "dkms build" dkms build -k "$release"
	tap_is "it is built" "$(dkms_states)" "kvm-pvperf/$version: built"
	tap_ok "dkms install" dkms install -k "$release"
	tap_is "it is installed" "$(dkms_states)" "kvm-pvperf/$version: installed"
	tap_is "both modules are there" "$(installed_modules)" \
		"kvm_pvperf_guest kvm_pvperf_host"
	for side in host guest; do
		tap_is "modprobe finds kvm_pvperf_$side, signed" \
			"$(loadable "kvm_pvperf_$side" | xargs)" \
			"kvm_pvperf_$side.ko $version DKMS module signing key"
	done
	tap_ok "dkms remove" dkms remove --all
	tap_is "nothing is left" "$(installed_modules)$(dkms_states)" ""
	rm -r "$root/usr/src/kvm-pvperf-$version"
}

# by_make MODULES EXPECTED
by_make() {
	tap_ok "make dkms-install MODULES=$1" \
		make_in_root dkms-install "MODULES=$1"
	tap_is "$1: it is installed" "$(dkms_states) $(installed_modules)" \
		"kvm-pvperf/$version: installed $2"
}

without_dkms() {
	tree=$work/tree
	place=$work/place
	copy_tree "$tree"
	mkdir "$place"
	listing "$place" >"$work/before"
	tap_ok "make install below DESTDIR" make -C "$tree" install \
		"DESTDIR=$place" PREFIX=/opt "KERNEL_RELEASE=$release"
	(cd "$place" && find . -type f ! -name 'modules.*' | sort) >"$work/files"
	tap_is "everything is where docs/install.md says" \
		"$(sed -e "s|/$release/|/RELEASE/|" -e '/share\/doc/d' "$work/files")" \
		"./etc/modprobe.d/kvm-pvperf.conf
./lib/modules/RELEASE/extra/guest-mod/kvm_pvperf_guest.ko
./lib/modules/RELEASE/extra/host-mod/kvm_pvperf_host.ko
./opt/lib/systemd/system/kvm-pvperf-guest.service
./opt/libexec/kvm-pvperf/load-guest
./opt/sbin/kvm-pvperf-check-host
./opt/sbin/kvm-pvperf-sign-modules"
	tap_is "the service runs what was installed" \
		"$(sed -n 's/^ExecStart=//p' \
			"$place/opt/lib/systemd/system/kvm-pvperf-guest.service")" \
		/opt/libexec/kvm-pvperf/load-guest

	echo "options kvm_pvperf_host max_events=4" \
		>"$place/etc/modprobe.d/kvm-pvperf.conf"
	tap_ok "make install again" make -C "$tree" install \
		"DESTDIR=$place" PREFIX=/opt "KERNEL_RELEASE=$release"
	tap_is "it keeps what the administrator has written" \
		"$(cat "$place/etc/modprobe.d/kvm-pvperf.conf")" \
		"options kvm_pvperf_host max_events=4"
	tap_ok "make uninstall" make -C "$tree" uninstall \
		"DESTDIR=$place" PREFIX=/opt "KERNEL_RELEASE=$release"
	tap_is "which keeps it, too, and nothing else" \
		"$(cd "$place" && find . -type f ! -name 'modules.*')" \
		./etc/modprobe.d/kvm-pvperf.conf

	rm -r "$place"
	mkdir "$place"
	tap_ok "make install MODULES=guest" make -C "$tree" install MODULES=guest \
		"DESTDIR=$place" PREFIX=/opt "KERNEL_RELEASE=$release"
	tap_is "installs nothing for hosts" \
		"$(listing "$place" | grep -c -e kvm_pvperf_host -e check-host \
			-e modprobe.d)" 0
	tap_is "anything else than host, guest and both is refused" \
		"$(make -C "$tree" modules MODULES=all 2>&1 |
			grep -o 'MODULES=all: not one of.*both')" \
		"MODULES=all: not one of host, guest and both"
}

signing() {
	openssl req -new -x509 -newkey rsa:2048 -nodes -days 2 \
		-subj "/CN=owner of this machine/" -outform DER \
		-keyout "$work/key" -out "$work/certificate" 2>/dev/null
	module=$work/kvm_pvperf_guest.ko
	cp "$tree/guest-mod/kvm_pvperf_guest.ko" "$module"
	tap_is "a module is not signed when it was just built" \
		"$(modinfo -F signer "$module")" ""
	tap_ok "sign-modules signs it" tools/sign-modules -k "$work/key" \
		-c "$work/certificate" -d "/lib/modules/$release/build" "$module"
	tap_is "with that key" "$(modinfo -F signer "$module")" \
		"owner of this machine"
	tap_matches "without a key it says what to do" \
		"$(tools/sign-modules -k "$work/none" "$module" 2>&1)" \
		'none: no such key; "dkms generate_mok" makes one'
}

tap_plan 33
make_root
by_hand
by_make host kvm_pvperf_host
by_make guest kvm_pvperf_guest
tap_is "the choice is kept for the next kernel" \
	"$(sed -n 's/^MODULES=//p' "$root/etc/default/kvm-pvperf")" guest
tap_ok "make dkms-uninstall" make_in_root dkms-uninstall
tap_is "nothing is left" "$(installed_modules)$(dkms_states)$(sources)$(
	find "$root/etc/default" -name 'kvm-pvperf*')" ""
without_dkms
signing
tap_is "modprobe understands the template of its configuration" \
	"$(sed 's/^#options/options/' packaging/modprobe.conf >"$work/modprobe.conf"
	modprobe -C "$work/modprobe.conf" --showconfig |
		grep -c '^options kvm_pvperf_host')" 5
