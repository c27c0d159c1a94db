#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the host keeps for a guest ends with the vCPU, the VM or the module.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40

# Of the test PMU: it counts its own inits and destroys.
existing_events() {
	cat /sys/module/kvm_pvperf_test_pmu/parameters/events_existing
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
	tap_plan 17
	tap_ok "the host's modules load" load_host_modules

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
	tap_is "which frees all events" "$(existing_events)" 0
	answer_guest 0 unloaded
	serve_guest_until is_unloaded
	tap_ok "the module loads again" load_module kvm_pvperf_host
	answer_guest 0 "loaded again"
	wait_guest
	wait_until_freed
	tap_is "all are freed when the guest powers off" "$(existing_events)" 0
	tap_ok "and the module unloads" unload_module kvm_pvperf_host
}

# perf_has COUNT: waits until the perf that started last has that many events
perf_has() {
	while [ "$(readlink /proc/$!/fd/* | grep -c perf_event)" -lt "$1" ]; do
		sleep 0.1
	done
}

guest() {
	load_module kvm_pvperf_guest
	load_module kvm_pvperf_test_guest
	perf stat -x, --no-scale -o /tmp/across -a -e bus-cycles,cycles,branches -- \
		sleep 1000 &
	perf_has 6
	# The host may kill this guest here.
	host_request "$1" >/dev/null

	output=$(perf stat -x, -e cycles -- true 2>&1)
	tap_is "without the host's module no new event opens" \
		"$(perf_count "$output" cycles)" "<not supported>"
	host_request is_unloaded >/dev/null

	exact=$(perf stat -x, -e bus-cycles -- exact-event -u 1000 2>&1 >/dev/null)
	tap_is "once it is back the guest counts again" \
		"$(perf_count "$exact" bus-cycles) $(perf_percent "$exact" bus-cycles)" \
		"1000 100.00"
	killall -INT sleep
	wait
	across=$(cat /tmp/across)
	tap_between "what was open all the time has counted on" \
		"$(perf_count "$across" bus-cycles)" 1000 1000
	tap_matches "and shows that a part of the time is missing" \
		"$(perf_percent "$across" bus-cycles)" '^[1-9]?[0-9]\.[0-9]+$'
	tap_ok "the guest's module unloads" unload_module kvm_pvperf_guest
}

run_test "$@"
