#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest samples one CPU for all tasks, which no switch between tasks touches, so
# nothing but its own check, once a second, can find out that the host's module was
# away.  Its own module stays as long as there are events.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40

PERIOD=100
PROBE_WRITES=20000

# For that the guest takes to look after the host, in hundredths of seconds.
CHECK=250

# Hundredths of seconds.
now() {
	sed 's/\.//; s/ .*//' /proc/uptime
}

# Prints how long nobody has served the guest, at least and at most.
on_module_away() {
	unloading=$(now)
	unload_from_under_guest kvm_pvperf_host 2>/dev/null || return 1
	unloaded=$(now)
	sleep 4
	loading=$(now)
	load_module kvm_pvperf_host || return 1
	echo "$((loading - unloaded)) $(($(now) - unloading))"
}

host() {
	tap_plan 16
	load_host_modules
	tap_is "the host's modules load" $? 0
	run_guest 1 guest
	tap_is "nothing is left of the guest" \
		"$(cat /sys/module/kvm_pvperf_host/parameters/events_open)" 0
}

# How many the running exact-sample has.
open_events() {
	for descriptor in /proc/"$(pidof exact-sample)"/fd/*; do
		readlink "$descriptor"
	done | grep -c perf_event
}

# "BEFORE GAP AFTER": the longest time without a sample in hundredths of seconds,
# and the number of samples before and after it
longest_gap() {
	perf script -i /tmp/data -F time | awk '
		NR > 1 && $1 - last > gap { gap = $1 - last; before = NR - 1 }
		{ last = $1 + 0 }
		END { print before + 0, int(gap * 100), NR - before }'
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"

	begin=$(now)
	exact "all tasks are sampled" -a -p $PERIOD -u $PROBE_WRITES
	# For two minutes, since it may become much faster; it is ended before.
	writes=$((PROBE_WRITES * 12000 / ($(now) - begin)))
	perf record -q -a -m 1024 -o /tmp/data -e bus-cycles -c $PERIOD -- \
		sh -c "exact-sample -a -t -l $writes -p $PERIOD -u $writes
			echo status=\$?" >/tmp/findings 2>&1 &
	record=$!
	until [ "$(open_events)" = 1 ]; do
		sleep 0.1
	done
	sleep 2

	# shellcheck disable=SC2046 # numbers
	set -- $(host_request module_away)
	tap_is "the host's module was away, and is back" $# 2
	sleep 4
	tap_matches "the guest's module does not unload while there are events" \
		"$(unload_module kvm_pvperf_guest 2>&1)" 'errno 11'
	tap_is "which go on all the time" "$(cat /tmp/findings)" ""
	kill "$(pidof exact-sample)"
	wait $record
	findings=$(cat /tmp/findings)
	tap_comment "away $1 to $2: $findings"
	tap_is "each overflow that was counted has a sample" "$(value status)" 0
	tap_between "the time that is missing is that of the absence" \
		$((($(value enabled) - $(value running)) / 10000000)) \
		"$1" $(($2 + CHECK))

	# shellcheck disable=SC2046 # numbers
	set -- "$1" "$2" $(longest_gap)
	tap_comment "samples before, hundredths without, samples after: $3 $4 $5"
	tap_between "samples come again within seconds" "$4" "$1" $(($2 + CHECK))
	tap_between "there were samples before" "$3" 10 1000000
	tap_between "and there are after" "$5" 10 1000000

	tap_ok "the guest's module unloads once there are no events" \
		unload_module kvm_pvperf_guest
	tap_ok "and loads again" load_module kvm_pvperf_guest
	exact "which samples again" -p 7 -u 2000
	tap_ok "and unloads again" unload_module kvm_pvperf_guest
}

run_test "$@"
