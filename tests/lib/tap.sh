# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Test lines.  tap_emit comes from the machine that the test runs on; lines are
# numbered where they are judged, because host VM and nested guests write to one
# stream.

# tap_plan COUNT: how many results the whole test gives, nested guests included
tap_plan() {
	tap_emit "1..$1"
}

# tap_comment TEXT: every line of TEXT as a comment
tap_comment() {
	printf '%s\n' "$1" | while IFS= read -r tap_line; do
		tap_emit "# $tap_line"
	done
}

tap_pass() {
	tap_emit "ok - $1"
}

# tap_fail DESCRIPTION [EXPLANATION]
tap_fail() {
	tap_emit "not ok - $1"
	[ $# -lt 2 ] || tap_comment "$2"
}

# tap_ok DESCRIPTION COMMAND...: passes if the command succeeds
tap_ok() {
	tap_description=$1
	shift
	if tap_output=$("$@" 2>&1); then
		tap_pass "$tap_description"
	else
		tap_fail "$tap_description" "failed: $*
$tap_output"
	fi
}

# tap_is DESCRIPTION ACTUAL EXPECTED: compares strings
tap_is() {
	if [ "$2" = "$3" ]; then
		tap_pass "$1"
	else
		tap_fail "$1" "     got: $2
expected: $3"
	fi
}

# tap_between DESCRIPTION ACTUAL LOWEST HIGHEST: compares integers
tap_between() {
	if [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then
		tap_pass "$1"
	else
		tap_fail "$1" "     got: $2
expected: $3 to $4"
	fi
}

# tap_matches DESCRIPTION TEXT EXPRESSION: some line of TEXT matches the
# extended regular expression
tap_matches() {
	if printf '%s\n' "$2" | grep -q -E -e "$3"; then
		tap_pass "$1"
	else
		tap_fail "$1" "no line matches $3 in:
$2"
	fi
}

# tap_passes COMMAND...: runs a program that prints TAP of its own, and shows what it
# says beside successes
tap_passes() {
	tap_output=$("$@")
	tap_status=$?
	printf '%s\n' "$tap_output" | grep -v '^ok '
	return "$tap_status"
}
