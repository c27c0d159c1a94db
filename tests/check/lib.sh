# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# What the checks share.  Sourced with the tree's root as working directory.
set -euo pipefail
shopt -s inherit_errexit

# files PATTERN...: the tree's files that match, built ones never
files() {
	git ls-files --cached --others --exclude-standard -- "$@" | sort -u |
		while IFS= read -r file; do
			if [ -f "$file" ]; then
				echo "$file"
			fi
		done
}

c_files() {
	files '*.c' '*.h'
}

shell_scripts() {
	files | while IFS= read -r file; do
		case $file in
		*.sh) echo "$file" ;;
		*) if head -n 1 "$file" | LC_ALL=C grep -aqE '^#! ?/bin/(ba)?sh'; then
			echo "$file"
		fi ;;
		esac
	done
}

# kernel_script NAME: the path of one of the kernel's scripts, of the release
# under test.  No package but the one with the whole source has them.
kernel_script() {
	local version tarball scripts
	version=$(tests/vm/kernel-release | cut -d . -f 1,2)
	tarball=/usr/src/linux-source-$version.tar.xz
	scripts=$(cache_directory)/kernel-scripts-$(stat -c %s-%Y "$tarball")
	if [ ! -d "$scripts" ]; then
		extract_kernel_scripts "$tarball" "linux-source-$version" "$scripts"
	fi
	echo "$scripts/$1"
}

extract_kernel_scripts() {
	local name work
	work=$(mktemp -d "$(cache_directory)/work.XXXXXX")
	# Stopping at the last of them saves most of the decompression.
	tar -C "$work" --strip-components 2 --occurrence=1 -xJf "$1" \
		"$2/scripts/checkpatch.pl" \
		"$2/scripts/const_structs.checkpatch" \
		"$2/scripts/kernel-doc" \
		"$2/scripts/spelling.txt"
	for name in checkpatch.pl const_structs.checkpatch kernel-doc spelling.txt; do
		test -f "$work/$name"
	done
	chmod 755 "$work"
	mv -T "$work" "$3"
}

cache_directory() {
	local cache=${KVM_PVPERF_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kvm-pvperf}
	mkdir -p "$cache"
	echo "$cache"
}

# none LINES...: succeeds if there are none, else prints them
none() {
	if [ -n "$*" ]; then
		printf '%s\n' "$*"
		return 1
	fi
}
