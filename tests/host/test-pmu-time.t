#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test PMU's samples of time.
. "$(dirname "$0")/../lib/test.sh"

export CLOCK=virtual

# The program prints TAP of its own; what it says beside successes is shown if
# it fails.
succeeds() {
	succeeds_output=$("$@")
	succeeds_status=$?
	printf '%s\n' "$succeeds_output" | grep -v '^ok '
	return "$succeeds_status"
}

host() {
	tap_plan 3
	tap_ok "KVM loads" load_kvm
	tap_ok "the test PMU loads" load_module kvm_pvperf_test_pmu
	tap_ok "it samples in time, at once and late" \
		succeeds kvm-sampling time
}

run_test "$@"
