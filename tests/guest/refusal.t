#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest's module where the host does not offer the PMU, and when it does later.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2

on_load_host() {
	load_host_modules
}

on_advertise() {
	echo "$1" >/sys/module/kvm_pvperf_host/parameters/advertise
}

host() {
	tap_plan 12
	tap_ok "KVM loads" load_kvm
	run_guest 1 guest
}

# refused DESCRIPTION: loading fails with ENODEV and one line about the bit
refused() {
	dmesg -c >/dev/null
	output=$(load_module kvm_pvperf_guest 2>&1)
	tap_is "$1: it does not load" $? 1
	tap_matches "$1: ENODEV" "$output" 'errno 19\)'
	tap_is "$1: one line" "$(dmesg | grep 'kvm_pvperf_guest: ' |
		grep -c -v -e 'out-of-tree module' -e 'verification')" 1
	tap_matches "$1: that says what is missing" "$(dmesg)" \
		'does not offer the paravirtual PMU .CPUID 0x40000001, EAX bit 28'
}

guest() {
	refused "without the host's module"
	tap_ok "the host's module loads under the running guest" \
		host_request load_host
	host_request advertise none
	refused "with advertise=none"
	host_request advertise all
	tap_ok "with advertise=all it loads" load_module kvm_pvperf_guest
	tap_matches "and counts" \
		"$(perf_count "$(perf stat -x, -e cycles true 2>&1)" cycles)" \
		'^[1-9][0-9]*$'
}

run_test "$@"
