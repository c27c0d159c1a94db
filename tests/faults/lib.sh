# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Reading fault patches.  A fault patch begins with text, in which these lines
# say what it is about:
#	Breaks: what no longer holds with it, in one line
#	Tests: the tests that must then fail, each of them
set -euo pipefail
shopt -s inherit_errexit

# fault_field PATCH FIELD: that line's text, or nothing
fault_field() {
	sed -n -e '/^diff --git /q' -e "s/^$2: *//p" "$1"
}

# fault_problems PATCH...: what is wrong with the patches, as far as it can be
# said without building anything, in the tree that is the working directory
fault_problems() {
	local patch test tests error
	for patch; do
		if [ ! -f "$patch" ]; then
			echo "there is no $patch"
			continue
		fi
		if [ -z "$(fault_field "$patch" Breaks)" ]; then
			echo "$patch: no line \"Breaks: ...\""
		fi
		tests=$(fault_field "$patch" Tests)
		if [ -z "$tests" ]; then
			echo "$patch: no line \"Tests: ...\""
		fi
		for test in $tests; do
			if [ ! -x "$test" ]; then
				echo "$patch: there is no test $test"
			fi
		done
		if ! error=$(git apply --check "$patch" 2>&1); then
			echo "$patch: $error"
		fi
	done
}
