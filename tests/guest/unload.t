#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Modules are unloaded, on either side, under perf record, top and stat that are at
# work: refused, or done; perf goes on, and ends when it is told to.  On one CPU of
# the host: docs/testing.md, faults of the emulator, says why.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=1 PMU_COUNTERS=40 TIME_LIMIT=400

# Of the host's module.
RELOADS=10

# The host's module is away for a second, RELOADS times.
on_reload_host() {
	for round in $(seq $RELOADS); do
		unload_from_under_guest kvm_pvperf_host 2>/dev/null || return
		[ "$(cat /sys/module/kvm_pvperf_test_pmu/parameters/events_existing)" \
			= 0 ] || return
		sleep 1
		load_module kvm_pvperf_host || return
		sleep 1
	done
}

on_unload_host() {
	unload_from_under_guest kvm_pvperf_host 2>/dev/null
}

on_load_host() {
	load_module kvm_pvperf_host
}

on_events_open() {
	cat /sys/module/kvm_pvperf_host/parameters/events_open
}

host() {
	tap_plan 24
	tap_ok "the host's modules load" load_host_modules
	run_guest 2 guest
}

# Three that look at all tasks on all CPUs until they are told to end, by process
# id in $tools; perf top needs somebody at the keyboard.
start_tools() {
	rm -f /tmp/data /tmp/stat /tmp/top
	perf record -q -a -g -F 99 -o /tmp/data -- cat /tmp/end \
		>/tmp/record 2>&1 &
	tools=$!
	perf stat -x, -a -I 500 -e cycles,instructions -o /tmp/stat -- \
		cat /tmp/end &
	tools="$tools $!"
	perf top --stdio -F 99 -d 1 </tmp/keys >/tmp/top 2>&1 &
	top=$!
	tools="$tools $top"
	# All have opened their events once all have counted.
	until grep -q '%' /tmp/top 2>/dev/null && grep -q ',cycles,' /tmp/stat 2>/dev/null &&
		[ -s /tmp/data ]; do
		sleep 0.1
	done
}

# end_tools: has them end; $statuses has a 0 for each that ends well, in 20 seconds
end_tools() {
	statuses=
	# Two of them wait for the command that they have started.
	: >/tmp/end
	kill -INT "$top"
	for tool in $tools; do
		tries=200
		while [ -d "/proc/$tool" ] && [ $tries -gt 0 ] &&
			[ "$(sed 's/.*) \(.\).*/\1/' "/proc/$tool/stat")" != Z ]; do
			sleep 0.1
			tries=$((tries - 1))
		done
		[ $tries -gt 0 ] || kill -9 "$tool"
		wait "$tool"
		statuses="$statuses $?"
	done
}

# The numbers that perf stat has given for cycles since line $1 of its output.
cycles_since() {
	tail -n +"$1" /tmp/stat | grep ',cycles,' | cut -d , -f 2 |
		grep -c '^[1-9]'
}

count_exactly() {
	counted=$(perf stat -x, -e bus-cycles -- exact-event -u 1000 2>&1)
	echo "$(perf_count "$counted" bus-cycles) $(perf_percent "$counted" bus-cycles)"
}

# keep_starting: perf that counts, one after the other, until /tmp/enough exists;
# prints the different kinds of results
keep_starting() {
	until [ -e /tmp/enough ]; do
		started=$(perf stat -x, -e cycles -- true 2>&1)
		perf_count "$started" cycles
	done | sed 's/^[1-9][0-9]*$/a number/' | sort | uniq -c
}

host_module_comes_and_goes() {
	start_tools
	tap_ok "the host's module is reloaded $RELOADS times" \
		host_request reload_host
	sleep 3
	lines=$(wc -l </tmp/stat)
	shown=$(wc -l </tmp/top)
	sleep 3
	tap_between "perf stat counts again" "$(cycles_since "$lines")" 2 100
	tap_matches "perf top shows functions again" \
		"$(tail -n +"$shown" /tmp/top)" '^ +[0-9]+\.[0-9]+%.*\[k\]'
	back=$(cut -d . -f 1 /proc/uptime)
	end_tools
	tap_is "record, stat and top end well" "$statuses" " 0 0 0"
	tap_between "record has samples of the last seconds" \
		"$(perf script -i /tmp/data -F time | tail -n 1 | cut -d . -f 1)" \
		$((back - 2)) $((back + 30))
	tap_is "and a task's events are counted exactly" "$(count_exactly)" \
		"1000 100.00"
}

host_module_stays_away() {
	start_tools
	tap_ok "the host's module is unloaded" host_request unload_host
	sleep 3
	lines=$(wc -l </tmp/stat)
	sleep 2
	tap_is "meanwhile perf stat counts nothing" "$(cycles_since "$lines")" 0
	tap_is "no new event opens" "$(count_exactly | cut -d ' ' -f 1,2)" \
		"<not supported>"
	end_tools
	tap_is "record, stat and top end well without it" "$statuses" " 0 0 0"
	tap_ok "the host's module is back" host_request load_host
	tap_is "and events are counted exactly" "$(count_exactly)" "1000 100.00"
}

guest_module_is_in_use() {
	start_tools
	tap_matches "the guest's module does not unload under them" \
		"$(unload_module kvm_pvperf_guest 2>&1)" 'errno 11'
	tap_matches "by rmmod neither" \
		"$(/sbin/rmmod kvm_pvperf_guest 2>&1)" 'in use'
	# shellcheck disable=SC2086 # a list
	kill -9 $tools
	# shellcheck disable=SC2086 # a list
	wait $tools
	: >/tmp/end
	tap_ok "it does once they were killed" \
		unload_from_under_guest kvm_pvperf_guest
	tap_is "and the host has nothing open" "$(host_request events_open)" 0
}

guest_module_comes_and_goes() {
	keep_starting >/tmp/results &
	starter=$!
	loads=0
	for round in $(seq 20); do
		load_module kvm_pvperf_guest && loads=$((loads + 1))
		sleep 0.2
		unload_from_under_guest kvm_pvperf_guest 2>/dev/null || break
	done
	touch /tmp/enough
	wait $starter
	tap_comment "$(cat /tmp/results)"
	tap_is "the guest's module is reloaded 20 times while perf starts" \
		"$loads $round" "20 20"
	tap_is "which counts, or says that it cannot" \
		"$(sed 's/^ *[0-9]* //' /tmp/results | grep -v -x -e 'a number' \
			-e '<not supported>' -e '<not counted>')" ""
	tap_matches "and has counted" "$(cat /tmp/results)" 'a number'
	tap_matches "and could not at times" "$(cat /tmp/results)" 'not supported'
	tap_ok "it loads" load_module kvm_pvperf_guest
	tap_is "and events are counted exactly then" "$(count_exactly)" \
		"1000 100.00"
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"
	mkfifo /tmp/keys /tmp/end
	exec 4<>/tmp/keys
	spin-work 1000000 >/dev/null &
	worker=$!
	host_module_comes_and_goes
	host_module_stays_away
	guest_module_is_in_use
	guest_module_comes_and_goes
	kill $worker
}

run_test "$@"
