#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Where KVM does not emulate the local APIC there is counting only; where it
# emulates that and nothing else, there is everything.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2

NO_SAMPLING='kvm_pvperf_guest: .*allows no sampling'

# counts COMMAND...: what perf stat gives for bus-cycles
counts() {
	perf_count "$(perf stat -x, -e bus-cycles "$@" 2>&1 >/dev/null)" bus-cycles
}

# make_after_idling: makes a program after-idling COMMAND...
# The guest's TSC is no good clock, so that the kernel lets the time of perf run one
# tick past the last tick or idling, and QEMU's ticks may be late by far more: any
# event that was only counted in that time has been counted for no time, and perf
# tells no count.
make_after_idling() {
	cat >/tmp/after-idling <<-'EOF'
	#!/bin/sh
	sleep 0.01
	exec "$@"
	EOF
	chmod +x /tmp/after-idling
	PATH=$PATH:/tmp
}

host() {
	tap_plan 20
	tap_ok "the host's modules load" load_host_modules
	tap_ok "the host may sample as often as it can" limit_rate
	# QEMU's firmware does not find a second CPU there.
	export GUEST=1 GUEST_QEMU_OPTIONS="-machine kernel_irqchip=off"
	run_guest 1 without
	GUEST=2 GUEST_QEMU_OPTIONS="-machine kernel_irqchip=split"
	run_guest 2 split
}

load_guest_modules() {
	load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest
}

without() {
	make_after_idling
	tap_ok "off: the guest's modules load" load_guest_modules
	tap_is "off: the log says once that there is no sampling" \
		"$(dmesg | grep -c "$NO_SAMPLING")" 1

	tap_is "off: counts of both modes" \
		"$(counts after-idling exact-event -u 1000 -k 500)" 1500
	tap_is "off: scheduled out" \
		"$(counts after-idling exact-event -u 5000 -s 100)" 5000
	tap_is "off: of all tasks" \
		"$(counts -a after-idling exact-event -u 1000)" 1000
	tap_is "off: of a group" "$(perf stat -x, -e '{bus-cycles,bus-cycles}' \
		after-idling exact-event -u 1000 2>&1 >/dev/null |
		awk -F , '$3 == "bus-cycles" { print $1, $5 }' | sort -u)" \
		"1000 100.00"
	tap_matches "off: cycles" "$(perf_count "$(perf stat -x, -e cycles \
		after-idling true 2>&1)" cycles)" '^[1-9][0-9]*$'

	output=$(perf record -q -o /tmp/data -e bus-cycles -c 1 \
		exact-event -u 10 2>&1)
	tap_matches "off: perf record says that it cannot" "$output" \
		"PMU Hardware doesn't support sampling/overflow-interrupts"
	output=$(exact-sample -u 10 2>&1)
	tap_is "off: an event that samples does not open" $? 1
	tap_matches "off: with EOPNOTSUPP" "$output" 'Operation not supported'
	tap_is "off: counts once more" \
		"$(counts after-idling exact-event -u 1000)" 1000
	tap_is "off: the log still says it once" \
		"$(dmesg | grep -c "$NO_SAMPLING")" 1
}

split() {
	tap_ok "split: the guest's modules load" load_guest_modules
	tap_ok "split: the guest may sample as often as it can" limit_rate
	tap_is "split: the log does not say that there is no sampling" \
		"$(dmesg | grep -c "$NO_SAMPLING")" 0
	tap_is "split: counts" "$(counts exact-event -u 1000 -k 500)" 1500
	exact "split: period 1" -p 1 -u 1000 -k 1000
	exact "split: period 7, migrating and scheduled out" -p 7 -M 11 -s 5 \
		-u 1000 -k 1000
}

run_test "$@"
