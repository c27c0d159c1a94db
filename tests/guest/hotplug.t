#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A CPU goes offline and comes back, time and again, while everything is sampled.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40 TIME_LIMIT=600

CYCLES=500

host() {
	tap_plan 14
	load_host_modules
	tap_is "the host's modules load" $? 0
	tap_ok "the host may sample as often as it can" limit_rate
	# KVM patches its own code when the first local APIC is disabled, as it is
	# while its CPU is offline, and when the last one is enabled again.  QEMU
	# (7.2) sometimes goes on with an instruction that was patched away, for ever.
	# A guest that does not start has a disabled one all the time.
	export GUEST=2 GUEST_QEMU_OPTIONS=-S
	start_guest 1 guest
	GUEST=1 GUEST_QEMU_OPTIONS=
	run_guest 2 guest
	GUEST=2
	kill_guest
	tap_is "no port write was missed by the test PMU" \
		"$(cat /sys/module/kvm_pvperf_test_pmu/parameters/port_writes_missed)" 0
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"
	tap_ok "the guest may sample as often as it can" limit_rate

	# All tasks on both CPUs, but on CPU 1 only until it goes.
	begin_recording 3
	succeeds "CPU 1 goes and comes $CYCLES times, and each time is sampled exactly" \
		hotplug-sample $CYCLES
	tap_is "with $CYCLES cycles" "$(value cycles)" $CYCLES
	tap_is "no sample was late" "$(value late)" 0
	end_recording
	tap_is "perf record has survived it" $? 0
	tap_comment "$(cat /tmp/messages)"
	tap_between "and has samples" \
		"$(perf script -i /tmp/all -F period -G 2>&1 | grep -c .)" 3 10000
	tap_is "CPU 1 is back" "$(cat /sys/devices/system/cpu/online)" 0-1

	exact "an event of each CPU is exact again" \
		-a -p 7 -M 10 -u 1000 -k 1000
	exact "and of a task" -p 7 -M 10 -s 5 -u 1000 -k 1000
	tap_ok "the guest's module unloads" unload_module kvm_pvperf_guest
}

run_test "$@"
