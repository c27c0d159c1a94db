#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test PMU itself, and the counting half of docs/abi.md by hypercalls of a
# guest without a kernel: with the host module, with other limits, and without.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40

with_other_limits() {
	load_module kvm_pvperf_host allow_raw=1 max_events=16 &&
		tap_passes abi-counting -r
}

host() {
	tap_plan 9
	tap_ok "KVM loads" load_kvm
	tap_ok "the test PMU loads" \
		load_module kvm_pvperf_test_pmu "counters=$PMU_COUNTERS"
	tap_ok "the test PMU counts exactly" tap_passes kvm-exact 5000
	tap_ok "without the host module nothing is there" tap_passes abi-counting -a
	tap_ok "the host module loads" load_module kvm_pvperf_host
	tap_ok "the interface is as documented" tap_passes abi-counting
	tap_ok "the host module unloads" unload_module kvm_pvperf_host
	tap_ok "then nothing is there" tap_passes abi-counting -a
	tap_ok "raw events and fewer slots, where the administrator says so" \
		with_other_limits
}

run_test "$@"
