# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Exact samples, in the host VM and in nested guests.

# limit_rate [SAMPLES]: per second, for each event of this machine; by default more than
# any machine takes
limit_rate() {
	# The kernel would lower it by itself on a slow machine, and takes none
	# while it is told not to.
	echo 25 >/proc/sys/kernel/perf_cpu_time_max_percent &&
		echo "${1:-1000000000}" >/proc/sys/kernel/perf_event_max_sample_rate &&
		echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
}

# succeeds DESCRIPTION COMMAND...: shows what it prints, and keeps it in $findings
succeeds() {
	succeeds_description=$1
	shift
	findings=$("$@" 2>&1)
	tap_is "$succeeds_description" $? 0
	tap_comment "$findings"
}

# exact DESCRIPTION OPTION...: exact-sample finds nothing wrong
exact() {
	exact_description=$1
	shift
	succeeds "$exact_description" exact-sample "$@"
}

# value NAME: the number in NAME=NUMBER of the last findings
value() {
	printf '%s\n' "$findings" | sed -n "s/.*\<$1=\([0-9]*\).*/\1/p"
}
