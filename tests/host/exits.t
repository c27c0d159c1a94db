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

hypercalls() {
	host_request kvm_statistic hypercalls
}

# open_gates COMMAND...: runs COMMAND, which waits before each of its phases,
# and writes the number of hypercalls up to each of these moments, in which it
# is off the CPU, to /tmp/gate.PHASE.
open_gates() {
	rm -f /tmp/gate
	mkfifo /tmp/gate
	"$@" </tmp/gate >/tmp/output &
	exec 4>/tmp/gate
	seen=0
	while kill -0 $! 2>/dev/null; do
		phase=$(sed -n "s/^ready //p" /tmp/output | sed -n "$((seen + 1))p")
		if [ -z "$phase" ]; then
			sleep 0.1
			continue
		fi
		seen=$((seen + 1))
		hypercalls >"/tmp/gate.$phase"
		echo >&4
	done
	exec 4>&-
	wait $!
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

	start=$(hypercalls)
	sleep 3
	tap_is "none while no event is open" $(($(hypercalls) - start)) 0

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

	start=$(hypercalls)
	sleep 3
	tap_is "none once all events are closed" $(($(hypercalls) - start)) 0
}

run_test "$@"
