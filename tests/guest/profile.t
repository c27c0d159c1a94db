#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Profiles tell the truth: functions with known shares of the time, in user and
# kernel mode, and the frequency that was asked for.
. "$(dirname "$0")/../lib/test.sh"

export CLOCK=virtual

host() {
	tap_plan 15
	load_host_modules
	tap_is "the host's modules load" $? 0
	run_guest 1 guest
}

# share_of SYMBOL: whole percents, by the last perf report
share_of() {
	printf '%s\n' "$report" | awk -v symbol="$1" '
		$3 == symbol { print int($1) }' | grep . || echo -1
}

# truth_of NAME: of the whole of planted-work's own time, whole percents
truth_of() {
	awk -v name="$1" -F '[= ]' '
		{ for (i = 1; i < NF; i += 2) { time[$i] = $(i + 1); sum += $(i + 1) } }
		END { print int(time[name] * 100 / sum) }' /tmp/output
}

# shares DESCRIPTION OPTION...: of planted functions, as perf record OPTION... and
# perf report show them
shares() {
	shares_description=$1
	shift
	perf record -q -o /tmp/data -e cycles "$@" -- planted-work 20 \
		>/tmp/output 2>/tmp/messages
	report=$(perf report -i /tmp/data --stdio -g none --sort symbol 2>&1 |
		grep -E '^ +[0-9.]+% ')
	tap_comment "$(cat /tmp/output /tmp/messages)
$(printf '%s\n' "$report" | head -n 5)"
	for planted in "planted_user_major major" "planted_user_minor minor" \
		"kvm_pvperf_planted_kernel kernel"; do
		truth=$(truth_of "${planted#* }")
		tap_between "$shares_description: ${planted% *} (percent)" \
			"$(share_of "${planted% *}")" \
			$((truth - 10)) $((truth + 10))
	done
}

# events_of TYPE: how many records of that type perf has counted
events_of() {
	printf '%s\n' "$statistics" | awk -v type="$1" '
		$1 == type && !count { count = $3 } END { print count + 0 }'
}

# frequency HZ ROUNDS: perf record gets there
frequency() {
	perf record -q -o /tmp/data -e cycles -F "$1" -- \
		planted-work -v 0 -k 0 -u 10 "$2" >/tmp/output 2>/tmp/messages
	statistics=$(perf report -i /tmp/data --stats --stdio 2>&1)
	samples=$(events_of SAMPLE)
	throttled=$(events_of THROTTLE)
	time=$(sed 's/major=\([0-9]*\).*/\1/' /tmp/output)
	tap_comment "$samples samples in $time ns, throttled $throttled times $(
		cat /tmp/messages)"
	tap_is "$1 Hz: no throttling" "$throttled" 0
	tap_between "$1 Hz: reached (per mille)" \
		$((samples * 1000000000 / (time / 1000) / $1)) 800 1200
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"
	shares "by period" -c 500000
	shares "by frequency" -F 1000
	shares "by default"
	frequency 99 100
	frequency 1000 30
}

run_test "$@"
