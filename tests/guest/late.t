#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Overflows that the host's perf is told of late, when the vCPU has gone on, has
# stopped the event, has halted or is on another CPU: none is lost, none is
# counted twice, and no NMI comes that nobody expects.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40 TIME_LIMIT=500

# At least, of the test PMU.
OVERFLOWS=100000

ANY_NUMBER=100000000
PMU=/sys/module/kvm_pvperf_test_pmu/parameters

# So a halted vCPU's events go on, until what is late comes, but not for as long as
# exact-sample sleeps.
poll_while_halted() {
	echo 5000000 >/sys/module/kvm/parameters/halt_poll_ns &&
		echo 5000000 >/sys/module/kvm/parameters/halt_poll_ns_grow_start &&
		echo 1 >/sys/module/kvm/parameters/halt_poll_ns_shrink
}

# move_threads: moves all threads of the guest's qemu from one of the two CPUs that
# run VMs to the other, time and again, until the guest has ended
move_threads() {
	while [ -d "/proc/$(guest_pid)/task" ]; do
		for thread in "/proc/$(guest_pid)/task"/*; do
			moves=$((moves + 1))
			taskset -cp $((1 + moves % 2)) "${thread##*/}" || break
		done
		moves=$((moves + 1))
		echo "$moves" >/run/moves
		sleep 0.02
	done >/dev/null 2>&1
}

# late WAY [NANOSECONDS]
on_late() {
	echo "${2:-20000}" >$PMU/late_ns &&
		echo "$1" >$PMU/late
}

test_pmu() {
	cat "$PMU/$1"
}

show_figures() {
	for figure in overflows overflows_late_nmi overflows_late_timer \
		overflows_dropped; do
		printf '%s=%s ' $figure "$(test_pmu $figure)"
	done
	echo
}

on_figures() {
	show_figures
}

# How many the host was told of late, or not at all.
all_overflows() {
	echo $(($(test_pmu overflows_late_nmi) +
		$(test_pmu overflows_late_timer) +
		$(test_pmu overflows_dropped)))
}

on_all_overflows() {
	all_overflows
}

host() {
	tap_plan 29
	tap_ok "the host's modules load" load_host_modules
	tap_ok "the host may sample as often as it can" limit_rate
	tap_ok "a vCPU's thread polls while it is halted" poll_while_halted
	start_guest 2 guest
	serve_guest_until begin
	move_threads &
	mover=$!
	answer_guest 0 ''
	wait_guest
	wait $mover

	tap_comment "$(show_figures)"
	tap_comment "moves of threads: $(cat /run/moves)"
	tap_between "its threads were moved many times" "$(cat /run/moves)" \
		100 $ANY_NUMBER
	tap_between "many overflows were late by NMI" \
		"$(test_pmu overflows_late_nmi)" $((OVERFLOWS / 4)) $ANY_NUMBER
	tap_between "many were late by timer" \
		"$(test_pmu overflows_late_timer)" $((OVERFLOWS / 4)) $ANY_NUMBER
	tap_between "many were not told of, since a stop was faster" \
		"$(test_pmu overflows_dropped)" 1000 $ANY_NUMBER
	tap_between "all these together" \
		"$(all_overflows)" $OVERFLOWS $ANY_NUMBER
	tap_is "no port write was missed by the test PMU" \
		"$(test_pmu port_writes_missed)" 0
}

# sample_on_both OPTION...: exact-sample on either CPU; $statuses are 0 0 if neither
# finds anything wrong
sample_on_both() {
	taskset 1 exact-sample -l $ANY_NUMBER "$@" >/tmp/first 2>&1 &
	first=$!
	taskset 2 exact-sample -l $ANY_NUMBER "$@" >/tmp/second 2>&1
	statuses=$?
	wait $first
	statuses="$? $statuses"
}

# both DESCRIPTION OPTION...
both() {
	both_description=$1
	shift
	began=$(date +%s)
	sample_on_both "$@"
	tap_is "$both_description" "$statuses" "0 0"
	tap_comment "$(cat /tmp/first /tmp/second)"
	tap_comment "$(($(date +%s) - began)) s, $(host_request figures)"
}

# repeat TIMES CPUS OPTION...: runs exact-sample, and fails if one fails
repeat() {
	repeat_times=$1
	repeat_cpus=$2
	shift 2
	while [ "$repeat_times" -gt 0 ]; do
		taskset "$repeat_cpus" exact-sample -l $ANY_NUMBER "$@" || return
		repeat_times=$((repeat_times - 1))
	done
}

# exiting DESCRIPTION TIMES OPTION...: the same, with the writes of many tasks
exiting() {
	exiting_description=$1
	exiting_times=$2
	shift 2
	began=$(date +%s)
	repeat "$exiting_times" 1 -f "$@" >/tmp/first 2>&1 &
	first=$!
	repeat "$exiting_times" 2 -f "$@" >/tmp/second 2>&1
	statuses=$?
	wait $first
	tap_is "$exiting_description" "$? $statuses" "0 0"
	tap_comment "$(tail -n 1 /tmp/first; tail -n 1 /tmp/second)"
	tap_comment "$(($(date +%s) - began)) s, $(host_request figures)"
}

# of_halted WRITES: each is of an event of all tasks, which goes on while the CPU
# has nothing to do
of_halted() {
	polls=$(host_request kvm_statistic halt_successful_poll)
	exact "by timer, while the vCPU is halted" \
		-l $ANY_NUMBER -a -i 1 -M 50 -u "$1"
	polls=$(($(host_request kvm_statistic halt_successful_poll) - polls))
	tap_comment "ends of halts that the host did not sleep through: $polls"
	tap_between "most have ended the halt" $polls \
		$(($1 * 6 / 10)) $ANY_NUMBER
	tap_between "and found no task running" "$(value wrong_task)" \
		$(($1 * 6 / 10)) $ANY_NUMBER
}

# until_enough OPTION...: the busier the machine, the more overflows come together
until_enough() {
	statuses="0 0"
	while [ "$statuses" = "0 0" ] &&
		[ "$(host_request all_overflows)" -lt $OVERFLOWS ]; do
		sample_on_both "$@"
	done
	tap_is "any way, until there are enough" "$statuses" "0 0"
	tap_comment "$(host_request figures)"
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"
	tap_ok "the guest may sample as often as it can" limit_rate

	host_request late 2 1000000
	of_halted 200

	host_request begin
	host_request late 1
	both "by NMI" -u 10000 -k 10000
	both "by NMI, scheduled out" -s 3 -u 1500 -k 1500
	exiting "by NMI, and the task exits" 20 -u 50

	host_request late 2 20000
	both "by timer" -u 24000 -k 24000
	both "by timer, scheduled out" -s 3 -u 3000 -k 3000
	exiting "by timer, and the task exits" 20 -u 50
	host_request late 2 200000
	both "by timer, much later" -p 1,2 -e 2 -u 8000 -k 8000

	host_request late 3 50000
	both "any way" -p 1,3 -e 2 -u 8000 -k 8000
	both "any way, of user mode only, scheduled out" -x kernel -s 3 -u 1500
	both "any way, migrating" -M 20 -u 2500 -k 2500
	both "any way, migrating and scheduled out" -p 1,7 -e 2 -M 20 -s 3 \
		-u 1000 -k 1000
	both "any way, leaders of groups" -m 3 -s 5 -u 4000 -k 4000
	both "any way, sleeping" -i 10 -u 2000
	exiting "any way, and the task exits" 20 -s 3 -u 50
	until_enough -u 2000 -k 2000
}

run_test "$@"
