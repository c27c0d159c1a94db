#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: checkpatch.pl --strict has nothing to say about any C file
. tests/check/lib.sh

ignored=(
	# About patches, not files.
	FILE_PATH_CHANGES
	# There is one place for tests of the kernel version, and another check
	# that makes sure of it.  checkpatch takes LINUX_VERSION_CODE for a
	# constant on the wrong side.
	LINUX_VERSION_CODE
	CONSTANT_COMPARISON
	# _Static_assert, __builtin_offsetof and KVM's own names.
	CAMELCASE
	# Takes any word of a message for the name of the function around it.
	EMBEDDED_FUNCTION_NAME
)
# What exists in the kernel only.
ignored_in_programs=(
	BIT_MACRO
	PREFER_DEFINED_ATTRIBUTE_MACRO
	PREFER_KERNEL_TYPES
)

# Modules are what kbuild builds, and the headers that they share.
of_modules() {
	case $1 in
	include/*) return 0 ;;
	esac
	[ -f "$(dirname "$1")/Kbuild" ]
}

check() {
	local types=$1
	shift
	# It leaves a file of its own in the tree that it is run in.
	(cd "$copy" && "$checkpatch" --no-tree --root="$copy" --strict --quiet --terse \
		--no-summary --show-types --ignore "$types" --file "$@") ||
		[ $? = 1 ]
}

# Where the kernel's own style is what checkpatch complains of:
# - NOKPROBE_SYMBOL() stands right behind a function's end like EXPORT_SYMBOL(),
#   but checkpatch knows only the latter;
# - names of perf's events have hyphens, also as arguments of macros;
# - a macro that is one asm statement cannot be put in parentheses.
false_alarm() {
	local file=$1 line=$2 message=$3
	case $message in
	*CHECK:LINE_SPACING:*)
		source_line "$file" "$line" | grep -q '^NOKPROBE_SYMBOL(' ;;
	*CHECK:SPACING:*"around that '-'"*)
		source_line "$file" "$line" | grep -qE '^[A-Z_]+\(.*[a-z]-[a-z]' ;;
	*ERROR:COMPLEX_MACRO:*)
		source_line "$file" $((line + 1)) | grep -qE '^\s*asm volatile\(' ;;
	*)
		return 1 ;;
	esac
}

source_line() {
	sed -n "$2p" "$1"
}

without_false_alarms() {
	local file line message
	while IFS=: read -r file line message; do
		if ! false_alarm "$file" "$line" "$message"; then
			echo "$file:$line:$message"
		fi
	done
}

comma_separated() {
	local IFS=,
	echo "$*"
}

checkpatch=$(kernel_script checkpatch.pl)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

modules=()
programs=()
while IFS= read -r file; do
	if of_modules "$file"; then
		modules+=("$file")
	else
		programs+=("$file")
	fi
done < <(c_files)
c_files | tar -c -T - | tar -x -C "$copy"

found=$(
	check "$(comma_separated "${ignored[@]}")" "${modules[@]}"
	check "$(comma_separated "${ignored[@]}" "${ignored_in_programs[@]}")" \
		"${programs[@]}"
)
if [ -n "$found" ]; then
	none "$(without_false_alarms <<<"$found")"
fi
