#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The host module's parameters: what they do, at load and at run time, and which
# values are refused.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40

parameters=/sys/module/kvm_pvperf_host/parameters

# log_lines: what the module has logged since dmesg was cleared
log_lines() {
	dmesg | sed -n 's/.*kvm_pvperf_host: //p' |
		grep -v -e 'out-of-tree module' -e 'verification'
}

# refused NAME VALUE WANTED: at run time
refused() {
	before=$(cat "$parameters/$1")
	dmesg -c >/dev/null
	refusal=$( (echo "$2" >"$parameters/$1") 2>&1)
	tap_is "$1=$2: EINVAL, a line in the log, nothing changed" \
		"${refusal##*: } / $(log_lines) / $(cat "$parameters/$1")" \
		"Invalid argument / $1=$2: not $3 / $before"
}

# refused_at_load NAME VALUE WANTED
refused_at_load() {
	dmesg -c >/dev/null
	load_output=$(load_module kvm_pvperf_host "$1=$2" 2>&1)
	tap_is "$1=$2: does not load" "$? ${load_output##* }" "1 22)"
	tap_is "$1=$2: a line says why" "$(log_lines | head -n 1)" "$1=$2: not $3"
}

# values_at_load PARAMETER=VALUE...: what they then are, without the last two
values_at_load() {
	load_module kvm_pvperf_host "$@" || return
	for name in advertise allow_raw max_events max_events_total min_period; do
		cat "$parameters/$name"
	done | xargs
	unload_module kvm_pvperf_host
}

host() {
	tap_plan 22
	tap_ok "KVM and the test PMU load" eval "load_kvm &&
		load_module kvm_pvperf_test_pmu counters=$PMU_COUNTERS"
	tap_is "the defaults" "$(values_at_load)" "all N 32 4096 1"
	tap_is "all can be set at load" "$(values_at_load advertise=vmm allow_raw \
		max_events=1 max_events_total=0 min_period=2147483647)" \
		"vmm Y 1 0 2147483647"
	refused_at_load advertise everybody "one of all, vmm and none"
	refused_at_load max_events 33 "a number from 1 to 32"

	tap_ok "the host module loads" load_module kvm_pvperf_host
	refused advertise '' "one of all, vmm and none"
	refused advertise vmms "one of all, vmm and none"
	for value in 0 33 -1 many; do
		refused max_events "$value" "a number from 1 to 32"
	done
	refused max_events_total 2147483648 "a number from 0 to 2147483647"
	refused min_period 0 "a number from 1 to 2147483647"
	refused allow_raw perhaps "Y or N"
	tap_is "what the module tells of itself cannot be written" \
		"$(stat -c %a "$parameters/events_open" "$parameters/probes" | xargs)" \
		"444 444"

	dmesg -c >/dev/null
	tap_ok "they do at run time what they say" tap_passes abi-policy
	tap_is "each VM that was refused something has one line for each cause" \
		"$(log_lines | sed 's/.*: \(.* refused\):.*/\1/' | sort | uniq -c |
			xargs)" \
		"2 event refused 1 raw event refused"
	tap_matches "KVM's table was asked for, by the probe" \
		"$(cat "$parameters/probes")" \
		'^kvm:kvm_dev_ioctl_get_cpuid armed hits [1-9][0-9]* missed 0$'
	tap_ok "the host module unloads" unload_module kvm_pvperf_host
}

run_test "$@"
