#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What people do first: perf stat in a guest without a hardware PMU.
. "$(dirname "$0")/../lib/test.sh"

export CLOCK=virtual

EVENTS="cycles instructions cache-misses branches"

# count EVENT COMMAND...
count() {
	counted_event=$1
	shift
	perf_count "$(perf stat -x, -e "$counted_event" -- "$@" 2>&1 >/dev/null)" \
		"$counted_event"
}

host() {
	tap_plan 15
	load_host_modules
	tap_is "the host's modules load" $? 0
	run_guest 1 guest
}

guest() {
	tap_ok "perf is the package's own" eval "cd / && md5sum -c /etc/perf.md5"
	list=$(echo "$EVENTS" | tr ' ' ,)
	before=$(perf stat -x, -e "$list" -- true 2>&1)
	for event in $EVENTS; do
		tap_is "without the guest's module: $event" \
			"$(perf_count "$before" "$event")" "<not supported>"
	done

	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"

	after=$(perf stat -x, -e "$list" -- spin-work 1 2>&1 >/dev/null)
	for event in $EVENTS; do
		tap_matches "with it: $event" "$(perf_count "$after" "$event")" \
			'^[1-9][0-9]*$'
	done

	once=$(count cycles spin-work 100)
	twice=$(count cycles spin-work 200)
	tap_between "doubling the work doubles the cycles (percent)" \
		$((twice * 100 / once)) 190 210
	sleeping=$(count cycles sleep 2)
	tap_between "a sleeping task takes next to no cycles (per mille)" \
		$((sleeping * 1000 / twice)) 0 49
	tap_comment "cycles: once $once, twice $twice, sleeping $sleeping"


	# The host spends thousands of instructions on each port write.
	few=$(count cycles exact-event -u 1)
	many=$(count cycles exact-event -u 10001)
	tap_between "what the host does for the guest is not counted (per exit)" \
		$(((many - few) / 10000)) 1 1500

	tap_matches "perf list shows the PMU" "$(perf list 2>/dev/null)" \
		'kvm_pvperf/cycles/ +\[Kernel PMU event\]'
}

run_test "$@"
