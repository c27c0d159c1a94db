# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Library of the part of a test that runs in the host VM: modules, nested
# guests and KVM's statistics.  File descriptor 3 is the channel to the machine.
#
# Up to 3 nested guests, numbered from 1, live at a time; GUEST is the one that
# the functions here talk about.

# shellcheck source=/dev/null # exists in the emulated machines only
. /payload/tests/lib/tap.sh
# shellcheck source=/dev/null
. /payload/tests/lib/modules.sh
# shellcheck source=/dev/null
. /payload/tests/lib/exact-sample.sh

GUEST=1
GUEST_MEMORY=512
GUEST_CPU=qemu64
GUEST_QEMU_OPTIONS=

tap_emit() {
	printf '%s\n' "$1" >&3
}

# A test may ask for it more than once.
load_kvm() {
	/sbin/modprobe kvm_amd || return
	[ -d /sys/module/kvm_pvperf_emulator_fix ] ||
		load_module kvm_pvperf_emulator_fix
}

# Everything that makes nested guests count: KVM, the test PMU, the host module.
# HOST_MODULE_ARGS is a list of parameters.
load_host_modules() {
	# shellcheck disable=SC2086 # a list of words
	load_kvm &&
		load_module kvm_pvperf_test_pmu "counters=${PMU_COUNTERS:-8}" &&
		load_module kvm_pvperf_host ${HOST_MODULE_ARGS:-}
}

# What guests boot: the host VM's own disk, or the one of their own kernel.
choose_guest_disk() {
	guest_disk=/dev/vda
	guest_boot=/boot
	if [ "${GUEST_KERNEL:-}" = "${KERNEL:-}" ]; then
		return
	fi
	guest_disk=/dev/vdc
	guest_boot=/run/guest-disk/boot
	[ -d "$guest_boot" ] || {
		mkdir /run/guest-disk
		mount -o ro -t ext4 /dev/vdc /run/guest-disk
	}
}

# start_guest CPUS FUNCTION [ARGUMENT...]: boots nested guest $GUEST, which runs
# FUNCTION of this test; returns at once.
start_guest() {
	guest_cpus=$1
	shift
	choose_guest_disk
	guest_pipe=/run/guest$GUEST
	rm -f "$guest_pipe.in" "$guest_pipe.out"
	mkfifo "$guest_pipe.in" "$guest_pipe.out"
	# Opening one end of a pipe would wait for the other.
	eval "exec $((GUEST * 2 + 2))<>$guest_pipe.in"
	eval "exec $((GUEST * 2 + 3))<>$guest_pipe.out"
	guest_console=/dev/virtio-ports/guest$GUEST
	guest_command_line="console=ttyS0 loglevel=5"
	guest_command_line="$guest_command_line panic=-1 oops=panic panic_on_warn=1"
	guest_command_line="$guest_command_line mitigations=off"
	guest_command_line="$guest_command_line ${GUEST_KERNEL_OPTIONS:-}"
	guest_command_line="$guest_command_line ROLE=guest TEST=$TEST -- $*"
	# shellcheck disable=SC2086 # a list of options
	(
		qemu-system-x86_64 -accel kvm -cpu "$GUEST_CPU" \
			-smp "$guest_cpus" -m "$GUEST_MEMORY" \
			-nodefaults -no-reboot -display none \
			-kernel "$guest_boot/vmlinux" \
			-initrd "$guest_boot/initramfs" \
			-append "$guest_command_line" \
			-chardev "file,id=console,path=$guest_console" \
			-serial chardev:console \
			-device virtio-serial-pci \
			-chardev "pipe,id=channel,path=$guest_pipe" \
			-device virtserialport,chardev=channel,name=channel \
			-drive "file=$guest_disk,if=virtio,format=raw,readonly=on" \
			-drive file=/dev/vdb,if=virtio,format=raw,readonly=on \
			-pidfile "$guest_pipe.pid" $GUEST_QEMU_OPTIONS &
		wait $!
		printf '\nexited %s\n' $? >"$guest_pipe.out"
	) &
	eval "guest_status_$GUEST=running"
	tap_comment "nested guest $GUEST started"
}

# Reads one line from the guest into guest_line.
read_from_guest() {
	guest_line=
	eval "IFS= read -r guest_line <&$((GUEST * 2 + 3))"
}

# answer_guest STATUS TEXT: ends the request that the guest waits for
answer_guest() {
	{
		[ -z "$2" ] || printf '%s\n' "$2" | sed 's/^/text /'
		printf 'status %s\n' "$1"
	} >"/run/guest$GUEST.in"
}

# serve_guest_until NAME: relays the guest's results and answers its requests
# until it makes request NAME, which is left waiting for answer_guest.  Without
# NAME until the guest has ended.  Fails if the guest ends otherwise.
serve_guest_until() {
	while read_from_guest; do
		case $guest_line in
		"tap "*)
			tap_emit "${guest_line#tap }"
			;;
		"request $1" | "request $1 "*)
			return 0
			;;
		"request "*)
			# Not in a subshell: a request may set variables.
			# shellcheck disable=SC2086 # name and arguments
			on_${guest_line#request } >/run/answer 2>&1
			answer_guest $? "$(cat /run/answer)"
			;;
		"end "*)
			eval "guest_status_$GUEST=\${guest_line#end }"
			;;
		"exited "*)
			end_of_guest "${guest_line#exited }"
			return
			;;
		esac
	done
	return 1
}

end_of_guest() {
	guest_status=
	eval "guest_status=\$guest_status_$GUEST"
	if [ "$1" = 0 ] && [ "$guest_status" = 0 ]; then
		tap_comment "nested guest $GUEST ended"
		return 0
	fi
	tap_fail "nested guest $GUEST completes" \
		"its part of the test: $guest_status, its qemu: exit status $1"
	return 1
}

# wait_guest: serves the guest until it has ended; fails unless it ended well
wait_guest() {
	serve_guest_until ''
}

# run_guest CPUS FUNCTION [ARGUMENT...]
run_guest() {
	start_guest "$@"
	wait_guest
}

guest_pid() {
	cat "/run/guest$GUEST.pid"
}

# kill_guest: ends the guest's qemu, as an operator would
kill_guest() {
	kill -9 "$(guest_pid)"
	while read_from_guest; do
		case $guest_line in
		"exited "*)
			tap_comment "nested guest $GUEST killed"
			return 0
			;;
		esac
	done
}

# kvm_statistic NAME: KVM's own count for the guest, summed over its vCPUs
kvm_statistic() {
	cat "/sys/kernel/debug/kvm/$(guest_pid)"-*/"$1"
}

# Guests may ask for it: host_request kvm_statistic hypercalls
on_kvm_statistic() {
	kvm_statistic "$1"
}
