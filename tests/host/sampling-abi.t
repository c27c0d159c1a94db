#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The sampling half of docs/abi.md by hypercalls of a guest without a kernel: with
# and without a local APIC in the kernel, with a smallest period, and until the
# host's module is unloaded.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40

parameter_of() {
	cat "/sys/module/$1/parameters/$2"
}

# It is in the middle of it once that has grown.
wait_for_overflows() {
	before=$(parameter_of kvm_pvperf_test_pmu overflows)
	tries=300
	while [ "$(parameter_of kvm_pvperf_test_pmu overflows)" \
		-lt $((before + 1000)) ] && [ $tries -gt 0 ]; do
		sleep 0.1
		tries=$((tries - 1))
	done
	[ $tries -gt 0 ]
}

host() {
	tap_plan 10
	tap_ok "the host's modules load" load_host_modules
	# A thread that is not to be scheduled out: neither for others' sake, nor
	# for the watchdog's, every few seconds.
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	echo 0 >/proc/sys/kernel/watchdog
	tap_ok "the interface is as documented" tap_passes abi-sampling
	tap_ok "the host module unloads" unload_module kvm_pvperf_host

	tap_ok "it loads with a smallest period" \
		load_module kvm_pvperf_host min_period=100
	tap_ok "which guests are told of and held to" \
		tap_passes abi-sampling -m 100

	echo 1 >/sys/module/kvm_pvperf_host/parameters/min_period
	abi-sampling -u >/tmp/output &
	tap_ok "a guest samples" wait_for_overflows
	tap_is "by two events of the host's" \
		"$(parameter_of kvm_pvperf_host events_open)" 2
	tap_ok "the host module unloads meanwhile" unload_from_under_guest kvm_pvperf_host
	tap_is "which frees all events" \
		"$(parameter_of kvm_pvperf_test_pmu events_existing)" 0
	wait $!
	tap_is "and the guest goes on without samples" \
		"$? $(grep -v '^ok ' /tmp/output)" "0 1..$(grep -c '^ok ' /tmp/output)"
}

run_test "$@"
