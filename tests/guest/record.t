#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# perf record and perf top of Debian, unmodified, in all the ways people use them.
. "$(dirname "$0")/../lib/test.sh"

export CLOCK=virtual TIME_LIMIT=600

host() {
	tap_plan 42
	load_host_modules
	tap_is "the host's modules load" $? 0
	run_guest 1 guest
}

# script FIELDS: of the last recording, without call chains
script() {
	perf script -i /tmp/data -F "$1" -G 2>/dev/null
}

# named SYMBOL: how many samples of the last recording are in it
named() {
	grep -c " $1\$" /tmp/samples
}

# record DESCRIPTION OPTION... -- COMMAND...: gives samples of both planted
# functions, user's and kernel's
record() {
	record_description=$1
	shift
	rm -f /tmp/data
	perf record -o /tmp/data "$@" >/tmp/output 2>&1
	tap_is "$record_description: perf succeeds" $? 0
	script ip,sym >/tmp/samples
	user=$(named planted_user_major)
	kernel=$(named kvm_pvperf_planted_kernel)
	tap_comment "$(grep 'Captured' /tmp/output), user $user, kernel $kernel"
	tap_ok "$record_description: it names the user's function" \
		test "$user" -gt 0
	tap_ok "$record_description: and the kernel's" test "$kernel" -gt 0
}

# called_by CALLER SYMBOL: of the samples in SYMBOL, how many have CALLER in their
# call chain, in percent
called_by() {
	# Without asking addr2line, which knows no function of a module.
	perf script --no-inline -i /tmp/data -F ip,sym 2>/dev/null |
		awk -v caller="$1" -v symbol="$2" '
			BEGIN { RS = "" }
			$2 == symbol {
				samples++
				for (i = 4; i <= NF; i += 2)
					if ($i == caller) {
						chains++
						break
					}
			}
			END { print samples ? int(chains * 100 / samples) : 0 }'
}

# What perf top shows until it names both functions, in 30 seconds at most.
watch_top() {
	# So that perf has its symbols soon.
	nice -n 19 planted-work 100000 >/dev/null &
	load=$!
	mkfifo /tmp/keys
	perf top --stdio -d 1 </tmp/keys >/tmp/top 2>&1 &
	top=$!
	exec 4>/tmp/keys
	for tenth in $(seq 300); do
		sleep 0.1
		grep -q planted_user_major /tmp/top &&
			grep -q kvm_pvperf_planted_kernel /tmp/top && break
	done
	kill -INT $top
	wait $top
	top_status=$?
	exec 4>&-
	kill $load
	tap_comment "$tenth tenths of a second: $(grep planted /tmp/top | tail -n 3)"
}

guest() {
	tap_ok "the guest's modules load" eval \
		"load_module kvm_pvperf_guest && load_module kvm_pvperf_test_guest"

	record "default" -- planted-work 5
	tap_is "which samples cycles, and not by a software clock" \
		"$(perf evlist -i /tmp/data)" cycles
	record "-F 99" -F 99 -- planted-work 10
	record "-F 4000" -F 4000 -- planted-work 5
	record "-c" -c 1000000 -- planted-work 5
	record "-a" -a -- planted-work 5
	tap_between "-a: other tasks have samples, too" \
		"$(script comm | grep -v planted-work | sort -u | wc -l)" 1 1000

	planted-work 100000 >/dev/null &
	record "-p" -p $! -- sleep 0.1
	kill $!
	record "--per-thread" --per-thread -- planted-work 5
	record "inherited" -- sh -c "planted-work 5 & planted-work 5; wait"
	tap_between "inherited: samples of both children" \
		"$(script comm,tid | grep planted-work | sort -u | wc -l)" 2 2
	for chain in fp dwarf; do
		record "-g $chain" --call-graph $chain -- planted-work 5
		tap_between "-g $chain: the user's function has its caller (percent)" \
			"$(called_by planted_caller planted_user_major)" 90 100
		tap_between "-g $chain: and the kernel's (percent)" \
			"$(called_by vfs_write kvm_pvperf_planted_kernel)" 90 100
	done

	watch_top
	tap_is "perf top ends well" $top_status 0
	tap_matches "it names the user's function" "$(cat /tmp/top)" \
		'%.*\[\.\] planted_user_major'
	tap_matches "and the kernel's" "$(cat /tmp/top)" \
		'%.*\[k\] kvm_pvperf_planted_kernel'
}

run_test "$@"
