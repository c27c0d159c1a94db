#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Sampling by period is exact: each overflow of the event of one port write gives
# one sample, at the instruction behind the write.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40 HOST_MODULE_ARGS=allow_raw=1 TIME_LIMIT=400

test_pmu() {
	cat "/sys/module/kvm_pvperf_test_pmu/parameters/$1"
}

host() {
	tap_plan 42
	tap_ok "the host's modules load" load_host_modules
	tap_ok "the host may sample as often as it can" limit_rate
	run_guest 2 guest
	tap_is "no port write was missed by the test PMU" \
		"$(test_pmu port_writes_missed)" 0
	tap_between "that was many overflows" "$(test_pmu overflows)" 50000 \
		1000000000
}

# samples_of FILE: "SAMPLES SUM-OF-PERIODS ELSEWHERE" by perf script, ELSEWHERE
# being those that are not at the instruction behind a write in user mode
samples_of() {
	perf script -i "$1" -F period,ip,sym -G | awk '
		{ samples++; sum += $1; elsewhere += $3 != "after_exact_write" }
		END { print samples + 0, sum + 0, elsewhere + 0 }'
}

# record DESCRIPTION WRITES PERIOD EVENTS OPTION... -- COMMAND...: WRITES that COMMAND
# makes, as perf samples them, by EVENTS that may each keep a part of a period
record() {
	record_description=$1
	record_writes=$2
	record_period=$3
	record_rest=$((($3 - 1) * $4))
	shift 4
	perf record -q -m 1024 -o /tmp/data -e bus-cycles -c "$record_period" \
		"$@" >/tmp/output 2>&1
	# shellcheck disable=SC2046 # words
	set -- $(samples_of /tmp/data)
	tap_comment "samples $1, sum of periods $2, elsewhere $3 $(cat /tmp/output)"
	tap_between "$record_description: the sum of the periods" "$2" \
		$((record_writes - record_rest)) "$record_writes"
	tap_is "$record_description: a sample for each period, in its place" \
		"$1 $3" "$(($2 / record_period)) 0"
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"
	tap_ok "the guest may sample as often as it can" limit_rate

	for mode in u k; do
		exact "period 1, alone, -$mode" -p 1 -$mode 2000
		exact "period 7, alone, -$mode" -p 7 -$mode 10000
		exact "period 1000, alone, -$mode" -p 1000 -$mode 10000
		exact "period 1, scheduled out, -$mode" -p 1 -s 3 -$mode 600
		exact "period 7, scheduled out, -$mode" -p 7 -s 3 -$mode 1000
		exact "period 1000, scheduled out, -$mode" -p 1000 -s 11 \
			-$mode 4000
	done
	exact "period 1, migrating" -p 1 -M 10 -u 1000 -k 1000
	exact "period 7, migrating" -p 7 -M 50 -u 5000 -k 5000
	exact "period 1000, migrating" -p 1000 -M 50 -u 5000 -k 5000
	exact "all three, migrating and scheduled out" -e 3 -p 1,7,1000 \
		-M 11 -s 5 -u 1000 -k 1000
	exact "8 events at once" -e 8 -p 1,7,1000 -u 2000 -k 2000
	exact "8 events at once, migrating and scheduled out" -e 8 -p 1,7,1000 \
		-M 11 -s 5 -u 500 -k 500
	exact "period 1, leader of a group" -p 1 -m 3 -u 1000 -k 1000
	exact "period 7, leader of a group" -p 7 -m 3 -u 5000 -k 5000
	exact "period 1000, leader of a group" -p 1000 -m 3 -u 5000 -k 5000
	exact "leaders of groups, migrating and scheduled out" -e 3 -p 1,7,1000 \
		-m 3 -M 11 -s 5 -u 500 -k 500
	exact "an event for each CPU" -c -p 7 -M 10 -u 2000 -k 2000
	exact "an event for each CPU, of all tasks" -a -p 7 -M 10 -u 2000 -k 2000
	exact "of user mode only" -x kernel -p 7 -u 5000 -k 5000
	exact "of kernel mode only" -x user -p 7 -u 5000 -k 5000
	exact "by the raw number" -r -p 7 -u 5000
	exact "by frequency" -F 500 -u 10000

	record "perf record of a task" 2000 1 1 --per-thread -- \
		exact-event -u 2000
	record "perf record of children" 7000 1 16 -- exact-event -u 7000 -f 7
	record "perf record of children that move" 10000 7 16 -- \
		exact-event -u 10000 -f 7 -m
	record "perf record of all CPUs" 10000 7 2 -a -- exact-event -u 10000 -m
}

run_test "$@"
