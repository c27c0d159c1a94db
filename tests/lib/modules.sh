# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Loading this project's modules, in the host VM and in nested guests.

# load_module NAME [PARAMETER=VALUE...]
load_module() {
	module_name=$1
	shift
	load-module load "/payload/modules/$module_name.ko" "$@"
}

# unload_module NAME
unload_module() {
	load-module unload "$1"
}
