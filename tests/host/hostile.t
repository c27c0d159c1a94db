#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Hostile guests: every boundary value of every operation and request, races, and that
# whatever is not the module's own is as without it.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40 TIME_LIMIT=150

# own_lines FILE: of a listing, those that the module may change: the leaves of
# features, and calls by its own number
own_lines() {
	grep -n -e '^plain cpuid 0x40000001 ' -e '^hyper-v cpuid 0x40000101 ' \
		-e '^xen cpuid 0x40000001 ' \
		-e "^plain hypercall 0x50565046, " \
		-e "^plain hypercall 0x[18]0*50565046, mode \\(0\\|16\\|32\\)," "$1" |
		cut -d : -f 1
}

# foreign FILE: the rest
foreign() {
	own_lines "$1" | sed 's/$/d/' >/tmp/own.sed
	sed -f /tmp/own.sed "$1"
}

# bits FILE: the features' EAX without and with its bit 28, in hexadecimal
features() {
	sed -n -e 's/^\(plain\|xen\) cpuid 0x40000001 0: \([0-9a-f]*\) .*/\1 \2/p' \
		-e 's/^\(hyper-v\) cpuid 0x40000101 0: \([0-9a-f]*\) .*/\1 \2/p' "$1"
}

with_bit() {
	while read -r name value; do
		printf '%s %08x\n' "$name" $((0x$value | 1 << 28))
	done
}

compare_listings() {
	tap_ok "what KVM shows and answers without the module" \
		eval "kvm-listing >/tmp/without"
	tap_ok "the host module loads" load_module kvm_pvperf_host
	tap_ok "what it shows and answers with it" eval "kvm-listing >/tmp/with"
	tap_comment "$(wc -l </tmp/with) lines, $(own_lines /tmp/with | wc -l) of its own; $(
		grep 'no interface' /tmp/with)"
	foreign /tmp/without >/tmp/without.foreign
	foreign /tmp/with >/tmp/with.foreign
	tap_is "is the same, but for its own" \
		"$(diff /tmp/without.foreign /tmp/with.foreign)" ""
	tap_is "of KVM's features one bit is added, wherever the leaf is" \
		"$(features /tmp/with)" "$(features /tmp/without | with_bit)"
	tap_is "Hyper-V's and Xen's calls by that number are theirs" \
		"$(grep -e '^hyper-v hypercall 0x50565046' \
			-e '^xen hypercall 0x50565046' /tmp/with)" \
		"$(grep -e '^hyper-v hypercall 0x50565046' \
			-e '^xen hypercall 0x50565046' /tmp/without)"
	unload_module kvm_pvperf_host
}

# log_of_module: what it has said, without its loading
log_of_module() {
	dmesg | sed -n 's/.*kvm_pvperf_host: //p' |
		grep -v -e 'out-of-tree module' -e 'verification'
}

host() {
	tap_plan 22
	tap_ok "KVM and the test PMU load" eval "load_kvm &&
		load_module kvm_pvperf_test_pmu counters=$PMU_COUNTERS"
	compare_listings

	dmesg -c >/dev/null
	for slots in 1 16 31 32; do
		tap_ok "with max_events=$slots: the host module loads" \
			load_module kvm_pvperf_host "max_events=$slots"
		tap_ok "every call gets its answer" \
			tap_passes abi-hostile $slots $slots
		[ $slots = 32 ] || tap_ok "the host module unloads" \
			unload_module kvm_pvperf_host
	done
	tap_is "the host's log has one line for each VM, of raw events" \
		"$(log_of_module | grep -c 'raw event refused') $(log_of_module |
			wc -l)" "4 4"
	tap_ok "every request becomes what it must" tap_passes abi-requests
	tap_is "and one more for that VM" \
		"$(log_of_module | grep -c 'raw event refused') $(log_of_module |
			wc -l)" "5 5"
	tap_ok "the host module unloads" unload_module kvm_pvperf_host
}

run_test "$@"
