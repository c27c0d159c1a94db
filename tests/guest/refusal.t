#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest's module where the host does not offer the PMU, and when it does later; and
# what the guest's service makes of it.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2

on_load_host() {
	load_host_modules
}

on_advertise() {
	echo "$1" >/sys/module/kvm_pvperf_host/parameters/advertise
}

host() {
	tap_plan 17
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

# service DESCRIPTION EXPECTED: exit status and first line of what the service runs
service() {
	service_output=$(load-guest 2>&1)
	tap_is "the service, $1" "$? $(printf '%s\n' "$service_output" | head -n 1)" \
		"$2"
}

# install_module FILE: where the service's modprobe looks
install_module() {
	installed=/tmp/tree/lib/modules/$(uname -r)
	mkdir -p "$installed"
	cp "$1" "$installed/kvm_pvperf_guest.ko"
	/sbin/depmod -b /tmp/tree 2>/dev/null
	export MODPROBE_OPTIONS="-d /tmp/tree"
}

guest() {
	not_found="modprobe: FATAL: Module kvm_pvperf_guest not found in directory"
	service "without the module" "1 $not_found /lib/modules/$(uname -r)"
	head -c 5000 /payload/modules/kvm_pvperf_guest.ko >/tmp/broken
	install_module /payload/modules/kvm_pvperf_guest.ko
	service "where the host does not offer the PMU" \
		"0 the host offers no paravirtual PMU: nothing to do"
	install_module /tmp/broken
	service "with a broken module" "1 modprobe: ERROR: could not insert 'kvm_pvperf_guest': Exec format error"
	install_module /payload/modules/kvm_pvperf_guest.ko
	refused "without the host's module"
	tap_ok "the host's module loads under the running guest" \
		host_request load_host
	host_request advertise none
	refused "with advertise=none"
	host_request advertise all
	tap_ok "with advertise=all it loads" load_module kvm_pvperf_guest
	service "where it is loaded" "0 kvm_pvperf_guest is loaded"
	unload_module kvm_pvperf_guest
	service "where the host offers the PMU" "0 kvm_pvperf_guest is loaded"
	tap_matches "and counts" \
		"$(perf_count "$(perf stat -x, -e cycles true 2>&1)" cycles)" \
		'^[1-9][0-9]*$'
}

run_test "$@"
