#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest is suspended in the middle of sampling: CPU 1 goes and comes, and CPU 0's
# local APIC is saved, switched off, and restored.  It stops short of sleeping: the
# emulated machine's guests do not wake up, with or without modules.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40

host() {
	tap_plan 9
	tap_ok "the host's modules load" load_host_modules
	tap_ok "the host may sample as often as it can" limit_rate
	run_guest 2 guest
}

suspend() {
	echo core >/sys/power/pm_test && echo mem >/sys/power/state
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"
	tap_ok "the guest may sample as often as it can" limit_rate

	begin_recording 10
	tap_ok "the guest is suspended, and resumes" suspend
	taskset -c 0 exact-event -u 1000 >/dev/null
	end_recording
	tap_is "perf record has survived it" $? 0
	tap_comment "$(cat /tmp/messages)"
	# Perf's own events of CPU 1 ended with its going.
	tap_is "what was open before takes samples after it" \
		"$(perf script -i /tmp/all -F cpu,period -C 0 | grep -c .)" 100
	exact "so does what is opened then, on both CPUs" \
		-p 7 -M 11 -s 5 -u 1000 -k 1000
	tap_ok "the guest's module unloads" unload_module kvm_pvperf_guest
}

run_test "$@"
