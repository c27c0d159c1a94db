#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The verdict: runs that went wrong, in logs and in fact, must be judged failed.
set -eu

here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
number=0

result() {
	number=$((number + 1))
	echo "$1 $number - $2"
}

# What boot leaves after a good run with one nested guest.
good_run() {
	rm -rf "$work/run"
	mkdir "$work/run"
	cd "$work/run"
	echo 0 >qemu-status
	: >qemu.log
	cat >console.log <<-END
		kvm-pvperf: host VM started
		[    9.246684] reboot: Power down
	END
	cat >guest1.log <<-END
		kvm-pvperf: nested guest started
		[    3.271933] reboot: Power down
	END
	cat >verdict.log <<-END
		begin
		1..2
		# nested guest 1 started
		ok - one
		ok - two
		# nested guest 1 ended
		end 0
	END
}

# judged_failed DESCRIPTION PROBLEM: the judge finds PROBLEM in the run, and shows
# it as a failure beside the results
judged_failed() {
	if "$here/judge" "$work/run" >"$work/output"; then
		result "not ok" "$1"
	elif ! grep -q "^not ok [0-9]* - $2" "$work/output"; then
		result "not ok" "$1"
		sed 's/^/# /' "$work/output"
	else
		result ok "$1"
	fi
}

# fault LOG MESSAGE: a good run but for MESSAGE in LOG
fault() {
	good_run
	sed -i "1a [    2.000000] $2" "$1"
	judged_failed "$1: $2" "a kernel reported a fault in $1"
}

# really DESCRIPTION PROBLEM TEXT: boots a test with the functions TEXT
really() {
	cat >"$work/case.t" <<-END
		#!/bin/sh
		. "\$(dirname "\$0")/../lib/test.sh"
		$3
		run_test "\$@"
	END
	if "$here/run-test" "$work/case.t" >"$work/output"; then
		result "not ok" "$1"
	elif ! grep -q "^not ok [0-9]* - $2" "$work/output"; then
		result "not ok" "$1"
		sed 's/^/# /' "$work/output"
	else
		result ok "$1"
	fi
	logs=$(sed -n 's/^# logs: //p' "$work/output")
	[ -z "$logs" ] || rm -r "$logs"
}

echo 1..40

good_run
if "$here/judge" "$work/run" >"$work/output"; then
	result ok "a good run passes"
else
	result "not ok" "a good run passes"
fi
if [ "$(grep -c -E '^(1\.\.2|ok 1 - one|ok 2 - two)$' "$work/output")" = 3 ]; then
	result ok "its results are numbered"
else
	result "not ok" "its results are numbered"
fi

for log in console.log guest1.log; do
	fault $log 'WARNING: CPU: 0 PID: 1 at kernel/events/core.c:1'
	fault $log 'BUG: unable to handle page fault for address: 0'
	fault $log 'BUG: KASAN: use-after-free in some_function'
	fault $log 'Oops: 0002 [#1] PREEMPT SMP'
	fault $log 'WARNING: possible circular locking dependency detected'
	fault $log 'rcu: INFO: rcu_preempt self-detected stall on CPU'
	fault $log 'watchdog: BUG: soft lockup - CPU#0 stuck for 22s!'
	fault $log 'Uhhuh. NMI received for unknown reason 30 on CPU 0.'
	fault $log 'Kernel panic - not syncing: Fatal exception'
	fault $log 'Call Trace:'
done

good_run
echo 124 >qemu-status
judged_failed "the time limit" "the host VM did not end within the time limit"
good_run
echo 1 >qemu-status
judged_failed "qemu's failure" "the host VM's qemu failed"
good_run
sed -i /started/d console.log
judged_failed "no init" "the host VM's init did not run once"
good_run
sed -i '/^end/d' verdict.log
judged_failed "no end" "the test did not end"
good_run
sed -i 's/^end 0/end 1/' verdict.log
judged_failed "a failing script" "the test failed"
good_run
sed -i '/^1\.\./d' verdict.log
judged_failed "no plan" "there is not exactly one plan"
good_run
sed -i '/^ok - two/d' verdict.log
judged_failed "a result too few" "planned 2 results, got 1"
good_run
sed -i 's/^ok - two/& # SKIP no time/' verdict.log
judged_failed "a skipped test" "a skipped test is not a passed one"
good_run
sed -i '/Power down/d' console.log
judged_failed "the host VM's unclean end" "the host VM did not power off"
good_run
sed -i '/Power down/d' guest1.log
judged_failed "a nested guest's unclean end" "a nested guest did not power off"
good_run
sed -i '/guest 1 ended/d' verdict.log
judged_failed "a lost nested guest" "1 nested guests started, 0 ended"
good_run
sed -i 's/^ok - two/not &/' verdict.log
if "$here/judge" "$work/run" >"$work/output"; then
	result "not ok" "a failed result"
else
	result ok "a failed result"
fi

really "the host VM panics" "a kernel reported a fault in console.log" \
	'host() { tap_plan 1; tap_pass done; echo c >/proc/sysrq-trigger; }'
really "a nested guest panics" "a kernel reported a fault in guest1.log" \
	'host() { tap_plan 1; tap_pass done; load_kvm; run_guest 1 guest; }
	guest() { echo c >/proc/sysrq-trigger; }'
export TIME_LIMIT=6
really "the test hangs" "the host VM did not end within the time limit" \
	'host() { tap_plan 1; tap_pass done; sleep 1000; }'

# What the judge finds must reach whoever runs the tests, and the caller's prove.
unset HARNESS_OPTIONS
cat >"$work/good.t" <<-END
	#!/bin/sh
	echo 1..1
	echo ok 1 - right
END
cat >"$work/bad.t" <<-END
	#!/bin/sh
	echo 1..2
	echo not ok 1 - wrong
	echo "# as wrong as can be"
	echo ok 2 - right
	echo "# as right as can be"
	exit 1
END
chmod +x "$work/good.t" "$work/bad.t"
if "$here/../run" 2 "$work/good.t" >"$work/output" 2>&1 &&
	[ "$(tail -n 1 "$work/output")" = "Result: PASS" ]; then
	result ok "the summary of good tests comes last"
else
	result "not ok" "the summary of good tests comes last"
fi
if "$here/../run" 2 "$work/good.t" "$work/bad.t" >"$work/output" 2>&1; then
	result "not ok" "a bad test fails all"
else
	result ok "a bad test fails all"
fi
if [ "$(sed '1,/^Result: FAIL/d' "$work/output")" = "Failed:
$work/bad.t: not ok 1 - wrong
# as wrong as can be" ]; then
	result ok "what failed comes after the summary"
else
	result "not ok" "what failed comes after the summary"
	sed 's/^/# /' "$work/output"
fi
