#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test PMU's samples of time.
. "$(dirname "$0")/../lib/test.sh"

export CLOCK=virtual

host() {
	tap_plan 3
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	tap_ok "KVM loads" load_kvm
	tap_ok "the test PMU loads" load_module kvm_pvperf_test_pmu
	# Whose turn it would be, time and again.
	while :; do :; done &
	tap_ok "it samples in time, at once and late" \
		tap_passes kvm-sampling time
	kill $!
}

run_test "$@"
