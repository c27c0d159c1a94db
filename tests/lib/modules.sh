# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Loading this project's modules, in the host VM and in nested guests.

# load_module NAME [PARAMETER=VALUE...]
load_module() {
	module_name=$1
	shift
	module_directory=/payload/modules
	# Where guests have another kernel than the host VM.
	if [ "$ROLE" = guest ] && [ -d /payload/guest-modules ]; then
		module_directory=/payload/guest-modules
	fi
	load-module load "$module_directory/$module_name.ko" "$@"
}

# unload_module NAME
unload_module() {
	load-module unload "$1"
}

# unload_from_under_guest NAME: the kernel refuses it while a hypercall of a guest is
# being served
unload_from_under_guest() {
	unload_tries=50
	until unload_module "$1"; do
		unload_tries=$((unload_tries - 1))
		[ $unload_tries -gt 0 ] || return 1
		sleep 0.1
	done
}
