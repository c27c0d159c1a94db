# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# What every test file (tests/*/NAME.t) includes.  The same file runs in three
# places: on the machine, where it boots a host VM with itself as payload; in
# that host VM, where its function host runs; and in nested guests, where the
# function that start_guest names runs.  docs/testing.md describes the format.

case ${ROLE:-machine} in
host)
	# shellcheck source=/dev/null # exists in the emulated machines only
	. /payload/tests/lib/host.sh
	;;
guest)
	# shellcheck source=/dev/null
	. /payload/tests/lib/guest.sh
	;;
esac

# A test of nested guests alone defines guest only.
host() {
	load_host_modules && run_guest "${GUEST_CPUS:-1}" guest
}

# The last line of every test file: run_test "$@"
run_test() {
	case ${ROLE:-machine} in
	machine)
		exec "$(dirname "$0")/../vm/run-test" "$0"
		;;
	host)
		host
		;;
	guest)
		"$@"
		;;
	esac
}
