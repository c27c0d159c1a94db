#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the host keeps for a guest ends with the vCPU, the VM or the module.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40

# Of the test PMU, which counts its own inits and destroys, without the one that
# the host's module keeps for itself.
existing_events() {
	echo $(($(cat /sys/module/kvm_pvperf_test_pmu/parameters/events_existing) -
		own_events))
}

created_events() {
	cat /sys/module/kvm_pvperf_test_pmu/parameters/event_inits
}

open_events() {
	cat /sys/module/kvm_pvperf_host/parameters/events_open
}

# The host frees outside of the context in which KVM ends a vCPU.
wait_until_freed() {
	tries=100
	while [ "$(existing_events)" != 0 ] && [ $tries -gt 0 ]; do
		sleep 0.1
		tries=$((tries - 1))
	done
}

host() {
	tap_plan 18
	load_host_modules
	tap_is "the host's modules load" $? 0
	own_events=1

	start_guest 2 guest counting
	serve_guest_until counting
	tap_between "host events exist while the guest counts" \
		"$(existing_events)" 3 64
	tap_is "the module knows of all of them" "$(open_events)" \
		"$(existing_events)"
	before=$(created_events)
	kill_guest
	wait_until_freed
	tap_is "all are freed when the VMM is killed" "$(existing_events)" 0
	tap_is "and the module knows it" "$(open_events)" 0
	tap_is "nothing was created meanwhile" "$(created_events)" "$before"

	start_guest 2 guest counting
	serve_guest_until counting
	tap_between "a second guest counts" "$(existing_events)" 3 64

	tap_ok "the module unloads under a guest that counts" \
		unload_module kvm_pvperf_host
	own_events=0
	tap_is "which frees all events" "$(existing_events)" 0
	answer_guest 0 unloaded
	serve_guest_until is_unloaded
	tap_ok "the module loads again" load_module kvm_pvperf_host
	own_events=1
	answer_guest 0 "loaded again"
	wait_guest
	wait_until_freed
	tap_is "all are freed when the guest powers off" "$(existing_events)" 0
	tap_ok "and the module unloads" unload_module kvm_pvperf_host
}

# perf_events_of PID: how many it has open
perf_events_of() {
	for descriptor in /proc/"$1"/fd/*; do
		readlink "$descriptor"
	done | grep -c perf_event
}

# wait_for_events COUNT: until the perf that started last has that many open
wait_for_events() {
	while [ "$(perf_events_of $!)" -lt "$1" ]; do
		sleep 0.1
	done
}

# Hundredths of seconds.
now() {
	sed 's/\.//; s/ .*//' /proc/uptime
}

guest() {
	load_module kvm_pvperf_guest
	load_module kvm_pvperf_test_guest
	perf stat -x, --no-scale -o /tmp/across -C 0 \
		-e bus-cycles,cycles,branches -- sleep 1000 &
	wait_for_events 3
	begin=$(now)
	perf stat -e cycles -- sh -c '
		until [ -e /tmp/fork ]; do sleep 0.1; done
		sh -c true && touch /tmp/forked' &
	wait_for_events 1
	# The host may kill this guest here.
	host_request "$1" >/dev/null

	touch /tmp/fork
	wait $!
	tap_ok "without the host's module a task that is counted can fork" \
		test -e /tmp/forked
	output=$(perf stat -x, -e cycles -- true 2>&1)
	tap_is "but no new event opens" \
		"$(perf_count "$output" cycles)" "<not supported>"
	sleep 3
	host_request is_unloaded >/dev/null

	back=$(now)
	exact=$(perf stat -x, -e bus-cycles -- \
		sh -c "taskset 1 exact-event -u 1000" 2>&1 >/dev/null)
	tap_is "once it is back the guest counts again" \
		"$(perf_count "$exact" bus-cycles) $(perf_percent "$exact" bus-cycles)" \
		"1000 100.00"
	sleep 2
	end=$(now)
	killall -INT sleep
	wait
	across=$(cat /tmp/across)
	tap_comment "$across"
	tap_is "what was open all the time on that CPU has counted on" \
		"$(perf_count "$across" bus-cycles)" 1000
	counted=$(((end - back) * 100 / (end - begin)))
	percent=$(perf_percent "$across" bus-cycles)
	tap_between "and shows which part of the time is missing" \
		"${percent%.*}" $((counted - 10)) $((counted + 10))
	tap_ok "the guest's module unloads" unload_module kvm_pvperf_guest
}

run_test "$@"
