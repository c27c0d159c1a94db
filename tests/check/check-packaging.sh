#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: what is packaged has one version, and explains the parameters that there are
. tests/check/lib.sh

version=$(cat VERSION)
dkms_version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' dkms.conf)
debian_version=$(sed -n '1s/^[^(]*(\(.*\)).*/\1/p' packaging/debian/changelog)

# Those that can be written, by their declaration.
parameters() {
	grep -hozE 'module_param(_cb)?\(([a-z_]+),[^;]*0644\)' host-mod/*.c |
		tr -d '\n\t' | tr '\0' '\n' |
		sed -E 's/^module_param(_cb)?\(([a-z_]+),.*/\2/' | sort
}

explained() {
	sed -n 's/^#options kvm_pvperf_host \([a-z_]*\)=.*/\1/p' \
		packaging/modprobe.conf | sort
}

none "$(
	[ "$dkms_version" = "$version" ] ||
		echo "dkms.conf: PACKAGE_VERSION is not that of VERSION, $version"
	[ "$debian_version" = "$version" ] ||
		echo "packaging/debian/changelog: not the version of VERSION, $version"
	diff <(parameters) <(explained) |
		sed -n -e 's/^< /packaging\/modprobe.conf does not explain /p' \
			-e 's/^> /packaging\/modprobe.conf explains what there is not: /p'
)"
