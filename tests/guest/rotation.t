#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# More events than slots: perf rotates them and scales what it has counted.  The
# test PMU's raw event 0x100 + k counts k times the cycles.
. "$(dirname "$0")/../lib/test.sh"

export CLOCK=virtual PMU_COUNTERS=64 HOST_MODULE_ARGS=allow_raw=1

EVENTS=40

raw_name() {
	printf 'r%x' $((0x100 + $1))
}

host() {
	tap_plan $((EVENTS + 5))
	load_host_modules
	tap_is "the host's modules load" $? 0
	run_guest 1 guest
}

guest() {
	tap_ok "the guest's module loads" load_module kvm_pvperf_guest

	truth=$(perf_count "$(perf stat -x, -e r101 -- spin-work 400 2>&1 \
		>/dev/null)" r101)
	list=$(for k in $(seq $EVENTS); do raw_name "$k"; echo; done |
		paste -s -d , -)
	output=$(perf stat -x, -e "$list" -- spin-work 400 2>&1 >/dev/null)
	tap_comment "$output"

	tap_comment "the truth: $truth"

	rotated=0
	worst=0
	for k in $(seq $EVENTS); do
		name=$(raw_name "$k")
		count=$(perf_count "$output" "$name")
		error=$(((count / k - truth) * 10000 / truth))
		[ "${error#-}" -le "$worst" ] || worst=${error#-}
		tap_between "event $k of $EVENTS, scaled (per mille of the truth)" \
			$((count * 1000 / k / truth)) 950 1050
		percent=$(perf_percent "$output" "$name")
		[ "${percent%.*}" -ge 100 ] || rotated=$((rotated + 1))
	done
	tap_comment "largest error: $worst in 10000"
	tap_is "each of them was off its slot for a while" $rotated $EVENTS

	# The display for people shows it too.
	shown=$(perf stat -e "$list" -- spin-work 400 2>&1 >/dev/null)
	tap_is "and perf shows the percentage of each" \
		"$(printf '%s\n' "$shown" | grep -c '([0-9.]*%)')" $EVENTS

	alone=$(perf stat -x, -e r101 -- spin-work 10 2>&1 >/dev/null)
	tap_is "with fewer events than slots all are on all the time" \
		"$(perf_percent "$alone" r101)" 100.00
}

run_test "$@"
