#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# An event that overflows more often than the guest, or the host, allows counts less,
# and says so: by its times, and by a record.
. "$(dirname "$0")/../lib/test.sh"

export CLOCK=virtual PMU_COUNTERS=40

on_limit_rate() {
	limit_rate "$1"
}

host() {
	tap_plan 17
	tap_ok "the host's modules load" load_host_modules
	tap_ok "the host may sample as often as it can" limit_rate
	run_guest 1 guest
}

# What the last run has not counted took about as long as without samples.
missed_time_is_right() {
	tap_between "$1: the time that is missing is right (percent)" \
		$((($(value enabled) - $(value running)) * 100 /
			(($(value writes) - $(value count)) * time_of_write))) \
		80 125
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"
	tap_ok "the guest may sample as often as it can" limit_rate

	exact "without a sample" -p 100000000 -u 100000
	time_of_write=$(($(value running) / 100000))
	tap_ok "a low limit in the guest" limit_rate 1000
	exact "which throttles, and the event's time says so" -t -u 100000
	tap_between "and perf's records, too" "$(value throttled)" 10 100000
	missed_time_is_right "in the guest"
	limit_rate

	tap_ok "a low limit in the host" host_request limit_rate 1000
	exact "which throttles, too, and the event's time says so" -t -u 100000
	tap_between "and perf's records tell of it" "$(value throttled)" 10 100000
	missed_time_is_right "in the host"
	tap_ok "no limit again" host_request limit_rate
	exact "which leaves nothing behind" -p 1 -u 2000

	# A sample costs far more cycles than that, so that the next one is always due.
	tap_ok "where samples let nothing else through, the work ends" \
		perf record -q -o /tmp/data -e cycles -c 1000 spin-work 2
	tap_between "since they are throttled" \
		"$(perf script -i /tmp/data -D | grep -c PERF_RECORD_THROTTLE)" \
		1 10000
}

run_test "$@"
