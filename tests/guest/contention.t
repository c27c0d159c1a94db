#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The host wants its counters back: the guest must not see a number that is
# plausible and wrong.
. "$(dirname "$0")/../lib/test.sh"

export CLOCK=virtual PMU_COUNTERS=1

created_events() {
	cat /sys/module/kvm_pvperf_test_pmu/parameters/event_inits
}

# take_counters PERF-OPTION...: a perf session of the host's own.  One on the
# vCPU's thread takes turns with the guest's event; one of all CPUs goes first.
on_take_counters() {
	before=$(created_events)
	perf stat -e cycles "$@" -- sleep 1000 >/dev/null 2>&1 &
	host_perf=$!
	while [ "$(created_events)" = "$before" ]; do
		sleep 0.1
	done
	# It opens one event after the other.
	sleep 1
}

on_share_counters() {
	on_take_counters -p "$(guest_pid)"
}

on_release_counters() {
	kill -INT "$host_perf"
	wait "$host_perf"
}

host() {
	tap_plan 13
	load_host_modules
	tap_is "the host's modules load" $? 0
	run_guest 1 guest
}

# count EVENTS UNITS
count() {
	{ perf stat -x, -e "$1" -- spin-work "$2" >/dev/null; } 2>&1
}

# per_mille OUTPUT: the cycles in OUTPUT, relative to the truth
per_mille() {
	cycles=$(perf_count "$1" cycles)
	case $cycles in
	*[!0-9]*) echo "$cycles" ;;
	*) echo $((cycles * 1000 / truth)) ;;
	esac
}

# percent_of OUTPUT: whole percents of the time that cycles were counted
percent_of() {
	percent=$(perf_percent "$1" cycles)
	echo "${percent%.*}"
}

guest() {
	tap_ok "the guest's module loads" load_module kvm_pvperf_guest

	output=$(count cycles 200)
	truth=$(perf_count "$output" cycles)
	tap_comment "the truth: $truth"
	tap_is "alone: counted all the time" "$(percent_of "$output")" 100

	host_request share_counters
	output=$(count cycles 200)
	tap_comment "shared: $output"
	tap_between "shared with the host: a percentage" \
		"$(percent_of "$output")" 1 99
	tap_between "and the scaled value is true (per mille)" \
		"$(per_mille "$output")" 900 1100

	# A group is shown with the leader's times, here a software event's.
	output=$(count '{task-clock,cycles}' 200)
	tap_comment "in a group: $output"
	tap_between "in a group led by a software event: a percentage" \
		"$(percent_of "$output")" 1 99
	tap_between "and the scaled value is true (per mille)" \
		"$(per_mille "$output")" 900 1100
	host_request release_counters

	host_request take_counters -a
	output=$(count cycles 200)
	tap_is "the host keeps the only counter: not counted" \
		"$(perf_count "$output" cycles)" "<not counted>"
	output=$(count '{task-clock,cycles}' 20)
	tap_is "nor in a group" "$(perf_count "$output" cycles)" "<not counted>"
	host_request release_counters

	output=$(count cycles 200)
	tap_is "released: counted all the time" "$(percent_of "$output")" 100
	tap_between "and the value is true (per mille)" \
		"$(per_mille "$output")" 990 1010

	output=$(count cycles,instructions 400)
	tap_comment "two events, one counter: $output"
	tap_between "two events of the guest share the counter: a percentage" \
		"$(percent_of "$output")" 1 99
	tap_between "and the scaled value is true (per mille)" \
		"$(per_mille "$output")" 1800 2200
}

run_test "$@"
