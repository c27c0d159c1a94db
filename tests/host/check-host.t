#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tools/check-host tells a host that can give its guests the PMU from one that cannot,
# and says what is wrong with it.
. "$(dirname "$0")/../lib/test.sh"

export CLOCK=virtual

parameters=/sys/module/kvm_pvperf_host/parameters
test_pmu=/sys/module/kvm_pvperf_test_pmu/parameters

# check DESCRIPTION STATUS EXPRESSION: of the exit status and a line of the output
check() {
	output=$(check-host 2>&1)
	tap_is "$1: exit status" $? "$2"
	tap_matches "$1: it says so" "$output" "$3"
}

host() {
	tap_plan 26
	check "without KVM" 1 '^KVM +FAIL +not loaded'
	tap_ok "KVM loads" load_kvm
	check "without a PMU" 1 '^PMU +FAIL .*No such file'
	tap_ok "the test PMU loads" load_module kvm_pvperf_test_pmu counters=8
	check "without the module" 1 '^module +FAIL .*is not loaded'
	tap_ok "the host module loads" load_module kvm_pvperf_host

	check "with all of it" 0 \
		'^tiny VM +(ok|note) +counts [0-9]+ of 20000000 instructions'
	tap_comment "$output"
	tap_matches "it samples" "$output" '^tiny VM +ok +samples: [0-9]+ overflows'
	tap_matches "the row for docs/kernels.md" "$output" \
		"^\\| $(uname -r) \\| .*AuthenticAMD.* \\| found \\| 3, 0 off \\| not the CPU's own \\| [0-9]+ of 20000000 instructions \\| 20[0-9-]+ \\|\$"
	tap_is "nothing is left open" "$(cat $parameters/events_open)" 0

	echo none >$parameters/advertise
	check "with advertise=none" 1 '^tiny VM +FAIL +is not offered the PMU'
	echo all >$parameters/advertise
	echo 0 >$parameters/max_events_total
	check "with max_events_total=0" 1 '^tiny VM +FAIL +counts nothing.*state 7'
	echo 4096 >$parameters/max_events_total
	echo 1 >$test_pmu/counters
	perf stat -a -e cycles:D -- sleep 1000 2>/dev/null &
	until [ "$(cat $test_pmu/events_active)" = \
		"$(grep -c ^processor /proc/cpuinfo)" ]; do
		sleep 0.1
	done
	check "without a free counter" 1 '^tiny VM +FAIL +counts nothing'
	killall -INT sleep
	wait
	echo 8 >$test_pmu/counters
	echo 0 >/sys/kernel/debug/kprobes/enabled
	check "with kprobes switched off" 1 '^kprobes +FAIL +switched off'
	echo 1 >/sys/kernel/debug/kprobes/enabled

	check "as it was before" 0 '^tiny VM +ok +samples'
	check-host -x >/tmp/output 2>&1
	tap_is "an unknown option" "$? $(grep -c usage: /tmp/output)" "2 1"
	check-host everything >/tmp/output 2>&1
	tap_is "an argument" "$? $(grep -c usage: /tmp/output)" "2 1"
}

run_test "$@"
