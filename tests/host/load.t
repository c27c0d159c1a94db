#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Loading where something is missing, and again and again.
. "$(dirname "$0")/../lib/test.sh"

export HOST_CPUS=2

# log_of COMMAND...: what the module logs meanwhile; status is COMMAND's
log_of() {
	dmesg -c >/dev/null
	"$@" >/tmp/output 2>&1
	log_status=$?
	log=$(dmesg | grep kvm_pvperf_host)
	return $log_status
}

reload_often() {
	count=0
	while [ $count -lt 20 ]; do
		load_module kvm_pvperf_host && unload_module kvm_pvperf_host ||
			return
		count=$((count + 1))
	done
}

host() {
	tap_plan 14
	log_of load_module kvm_pvperf_host
	tap_is "without KVM it does not load" $? 1
	tap_matches "with ENOENT" "$(cat /tmp/output)" 'errno 2\)'
	tap_matches "and a line that names symbol and kernel" "$log" \
		"kernel $(uname -r) has no function kvm_[a-z_]+"

	tap_ok "KVM loads" load_kvm
	echo 0 >/proc/sys/kernel/ftrace_enabled
	log_of load_module kvm_pvperf_host
	tap_is "without ftrace it does not load" $? 1
	tap_matches "and a line says why" "$log" \
		'does not redirect functions|cannot redirect'
	echo 1 >/proc/sys/kernel/ftrace_enabled

	log_of load_module kvm_pvperf_host
	tap_is "with both it does" $? 0
	tap_is "silently" \
		"$(echo "$log" | grep -v -e 'out-of-tree module' -e 'verification')" ""
	tap_matches "what it probes can be seen" \
		"$(cat /sys/module/kvm_pvperf_host/parameters/probes)" \
		'^kvm:kvm_emulate_hypercall armed hits 0 missed 0$'
	tap_is "ftrace cannot be switched off under the death watch" \
		"$(echo 0 2>&1 >/proc/sys/kernel/ftrace_enabled | grep -o busy)" busy
	tap_is "KVM cannot be unloaded under it" \
		"$(/sbin/rmmod kvm_amd 2>&1; /sbin/rmmod kvm 2>&1 | grep -o 'in use')" \
		"in use"
	tap_ok "it unloads" unload_module kvm_pvperf_host
	tap_ok "and loads and unloads again, often" reload_often
	tap_ok "KVM can be unloaded then" /sbin/rmmod kvm
}

run_test "$@"
