#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What sampling costs, in VM exits by reason, by KVM's own statistics.  The guest
# has one CPU, so that it makes no hypercalls of its own to wake or interrupt others.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2 PMU_COUNTERS=40

WRITES=3000

# All that KVM says of the guest, one per line, NAME=NUMBER.
on_statistics() {
	grep -H '^[0-9]*$' "/sys/kernel/debug/kvm/$(guest_pid)"-*/* 2>/dev/null |
		sed 's|.*/||; s/:/=/'
}

host() {
	tap_plan 19
	tap_ok "the host's modules load" load_host_modules
	tap_ok "the host may sample as often as it can" limit_rate
	run_guest 1 guest
}

# Timer interrupts so far.
ticks() {
	awk '$1 == "LOC:" { print $2 }' /proc/interrupts
}

at_gate() {
	host_request statistics
	echo "ticks=$(ticks)"
}

# growth: NAME=NUMBER for everything that has grown while the program worked
growth() {
	awk -F = '
		NR == FNR { before[$1] = $2; next }
		$2 > before[$1] { print $1 "=" $2 - before[$1] }' \
		/tmp/gate.work /tmp/gate.end
}

# of NAME FILE: the number in FILE, which has NAME=NUMBER in words or lines
of() {
	tr ' ' '\n' <"$2" | sed -n "s/^$1=//p" | grep . || echo 0
}

# KVM's statistics of the last run, and of the one without samples.
table() {
	tap_comment "$(awk -F = -v samples="$1" '
		NR == FNR { without[$1] = $2; next }
		/_ns=/ { next }
		!heading++ {
			printf "%-20s %10s %10s %10s\n", "", "without", "with",
				"per sample"
		}
		{
			printf "%-20s %10d %10d %10.2f\n", $1, without[$1], $2,
				($2 - without[$1]) / samples
		}' /tmp/without /tmp/growth)"
}

# run OPTION...: exact-sample, and what was needed for it
run() {
	open_gates exact-sample -g "$@"
	run_status=$?
	tap_comment "$(grep writes= /tmp/output)"
	growth >/tmp/growth
	samples=$(of samples /tmp/output)
	hypercalls=$(of hypercalls /tmp/growth)
	# Two for each switch away and back between two gates, and for the wait at
	# them; one for each second in which there is no other.
	others=$((2 * $(of switches /tmp/output) + 2 +
		$(of enabled /tmp/output) / 1000000000))
}

# cost DESCRIPTION PMIS OPTION...: a run of exact-sample, in which PMIS samples come by
# one PMI each, needs no more than one hypercall for each PMI
cost() {
	cost_description=$1
	cost_pmis=$2
	shift 2
	run "$@"
	tap_is "$cost_description: all samples are there" $run_status 0
	tap_comment "hypercalls: $hypercalls; samples: $samples; \
switches, waiting, checks: $others"
	table "$samples"
	tap_between "$cost_description: hypercalls" "$hypercalls" \
		"$cost_pmis" $((cost_pmis + others))
}

# cost_of_frequency DESCRIPTION OPTION...: the same, with two more at each tick
cost_of_frequency() {
	cost_description=$1
	shift
	run "$@"
	tap_is "$cost_description: all samples are there" $run_status 0
	ticks=$(of ticks /tmp/growth)
	tap_comment "hypercalls: $hypercalls; samples: $samples; ticks: $ticks; \
switches, waiting, checks: $others"
	table "$samples"
	tap_between "$cost_description: hypercalls" "$hypercalls" \
		1 $((samples + 2 * ticks + others))
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"
	tap_ok "the guest may sample as often as it can" limit_rate
	# Else the kernel stops real-time tasks now and then.
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us

	run -p 100000000 -u $WRITES
	cp /tmp/growth /tmp/without
	tap_is "without a sample: all are counted" $run_status 0
	tap_between "without a sample: hypercalls" "$hypercalls" 1 "$others"

	cost "period 1" $WRITES -p 1 -u $WRITES
	cost "period 7" $((WRITES / 7)) -p 7 -u $WRITES
	cost "period 7, a group of 4" $((WRITES / 7)) -p 7 -m 3 -u $WRITES
	cost "period 7, 8 events at once" $((WRITES / 7)) -p 7 -e 8 -u $WRITES
	cost_of_frequency "1000 Hz" -F 1000 -u $WRITES
	cost_of_frequency "1000 Hz, 4 events" -F 1000 -e 4 -u $WRITES

	start=$(host_request kvm_statistic hypercalls)
	sleep 3
	tap_is "none once all events are closed" \
		$(($(host_request kvm_statistic hypercalls) - start)) 0
}

run_test "$@"
