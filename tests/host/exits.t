#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What counting costs, in VM exits, by KVM's own statistics.  The guest has one
# CPU, so that it makes no hypercalls of its own to wake or interrupt others.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40

TRIPS=100
READS=50

host() {
	tap_plan 12
	load_host_modules
	tap_is "the host's modules load" $? 0
	run_guest 1 guest
}

at_gate() {
	host_request kvm_statistic hypercalls
}

# hypercalls_between PHASE PHASE
hypercalls_between() {
	echo $(($(cat "/tmp/gate.$2") - $(cat "/tmp/gate.$1")))
}

# Two for each switch away and back between two gates, and for the wait at them.
hypercalls_of_switches() {
	echo $((2 * $(sed -n 's/.*switches=//p' /tmp/output) + 2))
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"

	start=$(at_gate)
	sleep 3
	tap_is "none while no event is open" $(($(at_gate) - start)) 0

	for events in 1 4 32; do
		open_gates switch-task -g -k $events $TRIPS
		tap_is "a task with $events events switches" $? 0
		tap_is "one per switch away, one per switch back, with $events" \
			"$(hypercalls_between trips exit)" \
			"$(hypercalls_of_switches)"
	done

	for events in 4 32; do
		open_gates group-read -g -k $events -n 10 -r $READS
		tap_is "one per read of a group of $events" \
			"$(hypercalls_between read close)" \
			$(($(hypercalls_of_switches) + READS))
	done

	start=$(at_gate)
	sleep 3
	tap_is "none once all events are closed" $(($(at_gate) - start)) 0
}

run_test "$@"
