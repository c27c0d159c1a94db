# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Library of the tests of installation, which run in a fresh Debian root on the machine
# itself, without a VM.  Sourced with the top of the tree as working directory.

# shellcheck source=/dev/null
. tests/lib/tap.sh

tap_emit() {
	printf '%s\n' "$1"
}

work=$(mktemp -d "$(tests/vm/cache-directory)/install.XXXXXX")
root=$work/root
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# A root of this test's own, with the tree in /src.
make_root() {
	fresh=$(tests/install/build-root.sh)
	cp -a "$fresh" "$root"
	copy_tree "$root/src"
}

# copy_tree DIRECTORY: without what was built
copy_tree() {
	mkdir -p "$1"
	tar -c --exclude-vcs --exclude='*.ko' --exclude='*.o' --exclude='*.cmd' \
		--exclude=dist --exclude=tests/programs/build \
		--exclude=tools/check-host . | tar -x -C "$1"
}

# in_root COMMAND...: what it prints goes to $work/output too
in_root() {
	# Expanded by the shell that has the mounts.
	# shellcheck disable=SC2016
	unshare --mount --pid --fork sh -c '
		root=$1
		shift
		mount -t proc proc "$root/proc" &&
			exec chroot "$root" "$@"' sh "$root" "$@" </dev/null \
		>"$work/output" 2>&1
	in_root_status=$?
	cat "$work/output"
	return $in_root_status
}

# installed_modules: our modules in the root, by name
installed_modules() {
	find "$root/lib/modules/" -name 'kvm_pvperf_*.ko*' -printf '%f\n' |
		sed 's/\.ko.*//' | sort | xargs
}

# dkms_states: of our packages, as MODULE/VERSION: STATE, without kernel
dkms_states() {
	in_root dkms status | sed -n 's/^\(kvm-pvperf[^,:]*\).*: \(.*\)/\1: \2/p' |
		sort | xargs
}

# sources: of our packages, where DKMS finds them
sources() {
	find "$root/usr/src" -maxdepth 1 -name 'kvm-pvperf*' -printf '%f\n' |
		sort | xargs
}

# listing DIRECTORY: everything in it
listing() {
	(cd "$1" && find . -mindepth 1 | sort)
}
