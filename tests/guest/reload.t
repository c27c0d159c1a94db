#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The guest's module comes and goes under tasks that live on: in kernels before
# 6.2 such a task keeps a pointer to the PMU that it has used.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2

host() {
	tap_plan 14
	load_host_modules
	tap_is "the host's modules load" $? 0
	run_guest 2 guest
}

# A task that makes port writes when it is told to, and lives on.
long_lived_task() {
	while read -r number; do
		echo "$number" >/dev/kvm-pvperf-test
	done </tmp/numbers
}

# count_in_task NUMBER: what perf counts in that task while it makes NUMBER
count_in_task() {
	counted=$(perf stat -x, -e bus-cycles -p "$task" -- \
		sh -c "sleep 1; echo $1 >/tmp/numbers; sleep 1" 2>&1)
	echo "$(perf_count "$counted" bus-cycles) $(perf_percent "$counted" bus-cycles)"
}

guest() {
	tap_ok "the test's own module loads" load_module kvm_pvperf_test_guest
	mkfifo /tmp/numbers
	long_lived_task &
	task=$!
	exec 4>/tmp/numbers

	for round in 1 2 3; do
		tap_ok "round $round: the module loads" \
			load_module kvm_pvperf_guest
		tap_is "round $round: the task's events are counted" \
			"$(count_in_task $((round * 1000)))" \
			"$((round * 1000)) 100.00"
		tap_ok "round $round: the module unloads" \
			unload_module kvm_pvperf_guest
		# Software events make the scheduler look at the task's contexts.
		software=$(perf stat -x, -e context-switches -p "$task" -- \
			sh -c "echo 10 >/tmp/numbers; sleep 1" 2>&1)
		tap_matches "round $round: software events still count" \
			"$(perf_count "$software" context-switches)" \
			'^[1-9][0-9]*$'
	done
}

run_test "$@"
