#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Counts are exact: the event of one port write, made a known number of times.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40 HOST_MODULE_ARGS=allow_raw=1 TIME_LIMIT=400

N=100000


# expect DESCRIPTION EVENTS COMMAND...: every event of EVENTS counts N
expect() {
	expect_description=$1
	expect_events=$2
	shift 2
	expect_output=$(perf stat -x, -e "$expect_events" "$@" 2>&1 >/tmp/output)
	tap_is "$expect_description" \
		"$(printf '%s\n' "$expect_output" | awk -F , 'NF > 5 { print $1, $5 }' |
			sort -u)" "$N 100.00"
	tap_comment "$(cat /tmp/output)"
}

# repeat COUNT WORD: WORD,WORD,...
repeat() {
	seq "$1" | sed "s|.*|$2|" | paste -s -d , -
}

host() {
	tap_plan 20
	tap_ok "the host's modules load" load_host_modules
	run_guest 2 guest
	tap_is "no port write was missed by the test PMU" \
		"$(cat /sys/module/kvm_pvperf_test_pmu/parameters/port_writes_missed)" 0
	tap_is "no hypercall slipped past the probe" \
		"$(sed -n 's/^kvm:kvm_emulate_hypercall .* missed //p' \
			/sys/module/kvm_pvperf_host/parameters/probes)" 0
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"

	expect "alone" bus-cycles -- exact-event -u $N
	expect "by the PMU's own name" kvm_pvperf/bus-cycles/ -- exact-event -u $N
	expect "as a raw event" re0 -- exact-event -u $N
	expect "in a group of 4" "{$(repeat 4 bus-cycles)}" -- exact-event -u $N
	expect "in a group of 32" "{$(repeat 32 bus-cycles)}" -- exact-event -u $N
	expect "32 events that are no group" "$(repeat 32 bus-cycles)" -- \
		exact-event -u $N
	expect "of all CPUs" bus-cycles -a -- exact-event -m -u $N
	expect "of one CPU" bus-cycles -C 1 -- \
		sh -c "taskset 2 exact-event -u $N"
	expect "of child processes" bus-cycles -- exact-event -u $N -f 7
	expect "of threads" bus-cycles -- exact-event -u $N -t 7

	expect "of a task that moves between CPUs and is scheduled out" \
		bus-cycles -- exact-event -u $N -m -s 1000
	moved=$(cat /tmp/output)
	switches=${moved#*switches=}
	migrations=${moved#*migrations=}
	tap_between "that task was scheduled out often enough" \
		"${switches%% *}" 1000 1000000000
	tap_between "that task has moved often enough" \
		"${migrations%% *}" 200 1000000000

	by_mode=$(perf stat -x, -e bus-cycles:u,bus-cycles:k,bus-cycles -- \
		exact-event -u 70000 -k 30000 2>&1 >/dev/null)
	tap_is "in user mode only" "$(perf_count "$by_mode" bus-cycles:u)" 70000
	tap_is "in kernel mode only" "$(perf_count "$by_mode" bus-cycles:k)" 30000
	tap_is "in both" "$(perf_count "$by_mode" bus-cycles)" 100000
}

run_test "$@"
