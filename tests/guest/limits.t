#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Fewer slots than the ABI has, and fewer still on the next host.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 HOST_MODULE_ARGS=max_events=4

on_fewer_slots() {
	unload_module kvm_pvperf_host && load_module kvm_pvperf_host max_events=2
}

on_no_more_events() {
	echo 0 >/sys/module/kvm_pvperf_host/parameters/max_events_total
}

on_log() {
	dmesg | grep -c 'event refused'
}

host() {
	tap_plan 9
	load_host_modules
	tap_is "the host's modules load" $? 0
	run_guest 1 guest
}

# counts EVENTS COMMAND...: the different counts and percentages of EVENTS
counts() {
	counts_events=$1
	shift
	{ perf stat -x, -e "$counts_events" -- "$@" >/dev/null; } 2>&1 |
		awk -F , 'NF > 5 { print $1, $5 }' | sort -u
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"
	tap_is "a group of as many events as slots counts" \
		"$(counts '{bus-cycles,bus-cycles,bus-cycles,bus-cycles}' \
			exact-event -u 1000)" "1000 100.00"
	tap_matches "a larger one does not open" \
		"$(counts '{bus-cycles,bus-cycles,bus-cycles,bus-cycles,bus-cycles}' \
			exact-event -u 1000)" '^<not supported> '

	perf stat -x, --no-scale -o /tmp/across -C 0 \
		-e cycles,bus-cycles,branches,instructions -- sleep 1000 &
	sleep 2
	tap_ok "the host accepts fewer slots from now on" \
		host_request fewer_slots
	sleep 2
	exact-event -u 1000
	sleep 2
	killall -INT sleep
	wait
	tap_comment "$(cat /tmp/across)"
	tap_is "then no event claims to have counted all the time" \
		"$(awk -F , 'NF > 5 && $5 >= 100' /tmp/across)" ""

	host_request no_more_events
	tap_is "a task's event is not counted where the host opens no more" \
		"$(counts cache-misses exact-event -u 1000)" "<not counted> 0.00"
	tap_is "again" \
		"$(counts cache-references exact-event -u 1000)" "<not counted> 0.00"
	tap_is "and the host's log says so once" "$(host_request log)" 1
}

run_test "$@"
