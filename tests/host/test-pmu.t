#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test PMU's samples of what can be counted exactly.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40

host() {
	tap_plan 3
	tap_ok "KVM loads" load_kvm
	tap_ok "the test PMU loads" \
		load_module kvm_pvperf_test_pmu "counters=$PMU_COUNTERS"
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	# Else the program is scheduled out for it every few seconds.
	echo 0 >/proc/sys/kernel/watchdog
	tap_ok "it samples as a hardware PMU does, at once and late" \
		tap_passes kvm-sampling exact
}

run_test "$@"
