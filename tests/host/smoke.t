#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The emulated machines themselves: host VM, KVM, nested guest, perf, channels.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2

on_greet() {
	greeted=$1
	echo "hello $1"
	echo "and welcome"
}

on_refuse() {
	return 3
}

host() {
	tap_plan 16
	tap_is "the host VM panics on warnings" \
		"$(cat /proc/sys/kernel/panic_on_warn)" 1
	module=/lib/modules/$(uname -r)/kernel/lib/crc7.ko
	tap_ok "libkmod loads a module" load-module load "$module"
	tap_ok "libkmod unloads it" load-module unload crc7
	tap_matches "an error has a name" \
		"$(load-module load "$module" unknown=1 2>&1
		load-module load "$module" 2>&1)" 'File exists \(errno 17\)'
	tap_ok "KVM loads" load_kvm
	tap_ok "/dev/kvm exists" test -c /dev/kvm
	start_guest 2 guest with arguments
	serve_guest_until wait_here
	tap_is "requests run in the test's own shell" "$greeted" guest
	exits=$(kvm_statistic exits)
	pid=$(guest_pid)
	tap_ok "KVM counts the guest's exits" test "$exits" -gt 1000
	answer_guest 0 waited
	wait_guest
	tap_ok "the guest's statistics go with it" \
		test ! -e "/sys/kernel/debug/kvm/$pid"-*
}

guest() {
	tap_is "the guest panics on warnings" \
		"$(cat /proc/sys/kernel/panic_on_warn)" 1
	tap_is "arguments reach the guest" "$*" "with arguments"
	tap_is "the guest has two CPUs" "$(nproc)" 2
	tap_is "the host VM answers requests" "$(host_request greet guest)" \
		"hello guest
and welcome"
	host_request refuse
	tap_is "the host VM may refuse a request" $? 3
	tap_is "the guest waits for the host VM" "$(host_request wait_here)" waited
	tap_is "perf cannot count cycles without a PMU" \
		"$(perf_count "$(perf stat -x, -e cycles true 2>&1)" cycles)" \
		"<not supported>"
}

run_test "$@"
