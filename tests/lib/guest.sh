# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Library of the part of a test that runs in a nested guest.  File descriptor 3
# is the channel to the host VM, which lib/host.sh serves.

# shellcheck source=/dev/null # exists in the emulated machines only
. /payload/tests/lib/tap.sh
# shellcheck source=/dev/null
. /payload/tests/lib/modules.sh
# shellcheck source=/dev/null
. /payload/tests/lib/exact-sample.sh

tap_emit() {
	printf 'tap %s\n' "$1" >&3
}

# host_request NAME [ARGUMENT...]: has the host VM run on_NAME ARGUMENT... while
# this guest waits, and prints its output.  The exit status is that of on_NAME.
host_request() {
	printf 'request %s\n' "$*" >&3
	while IFS= read -r reply_line <&3; do
		case $reply_line in
		"text "*)
			printf '%s\n' "${reply_line#text }"
			;;
		"status "*)
			return "${reply_line#status }"
			;;
		esac
	done
	return 1
}

# perf_count OUTPUT EVENT: the number that `perf stat -x,` gives for EVENT in
# OUTPUT, or its <...> text
perf_count() {
	printf '%s\n' "$1" | awk -F , -v event="$2" '$3 == event { print $1 }'
}

# perf_percent OUTPUT EVENT: the share of the time that EVENT was counted
perf_percent() {
	printf '%s\n' "$1" | awk -F , -v event="$2" '$3 == event { print $5 }'
}

# begin_recording PERIOD: has perf sample all tasks on all CPUs, into /tmp/all
begin_recording() {
	mkfifo /tmp/end
	perf record -q -o /tmp/all -a -e bus-cycles -c "$1" -- cat /tmp/end \
		>/tmp/messages 2>&1 &
	recorder=$!
	# By then its events are on.
	until pidof cat >/dev/null; do
		sleep 0.1
	done
}

# end_recording: the exit status is perf's
end_recording() {
	echo >/tmp/end
	wait "$recorder"
}

# open_gates COMMAND...: runs COMMAND, which waits before each of its phases, and
# writes what the test's at_gate prints in each of these moments, in which COMMAND
# is off the CPU, to /tmp/gate.PHASE
open_gates() {
	rm -f /tmp/gate
	mkfifo /tmp/gate
	"$@" </tmp/gate >/tmp/output 2>&1 &
	exec 4>/tmp/gate
	gates_seen=0
	while kill -0 $! 2>/dev/null; do
		gate=$(sed -n "s/^ready //p" /tmp/output |
			sed -n "$((gates_seen + 1))p")
		if [ -z "$gate" ]; then
			sleep 0.1
			continue
		fi
		gates_seen=$((gates_seen + 1))
		at_gate >"/tmp/gate.$gate"
		echo >&4
	done
	exec 4>&-
	wait $!
}
