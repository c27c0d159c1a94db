#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: no test of the kernel version outside include/compat/
. tests/check/lib.sh

mapfile -t sources < <(c_files; files Kbuild '*/Kbuild')
none "$(grep -nE 'LINUX_VERSION_CODE|KERNEL_VERSION *\(|LINUX_VERSION_(MAJOR|PATCHLEVEL|SUBLEVEL)|RHEL_RELEASE' \
	"${sources[@]}" | grep -v '^include/compat/')"
