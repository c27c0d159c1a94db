#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# build-images.sh [KERNEL]: makes sure that the cache holds the images of the emulated
# machines and prints the directory with them: kernel-release, vmlinux, initramfs and
# root.ext4, which serve the host VM and the nested guests alike.
# KERNEL is a name of tests/matrix/kernels; without it, all comes from this machine's
# own release.
set -eu

here=$(dirname "$(readlink -f "$0")")
matrix=$here/../matrix
cache=$("$here/cache-directory")

# choose_kernel [KERNEL]
choose_kernel() {
	architecture=$(dpkg --print-architecture)
	if [ -z "${1-}" ]; then
		name=images
		debian=
		release=$("$here/kernel-release")
		return
	fi
	name=images-$1
	row=$("$matrix/kernel" "$1")
	# shellcheck disable=SC2086 # its columns
	set -- $row
	architecture=$2
	debian=$3
	release=$4
}

choose_kernel "$@"
packages="linux-image-$release linux-perf kmod busybox-static"
# Hosts are 64-bit.
if [ "$architecture" = amd64 ]; then
	packages="$packages qemu-system-x86"
fi

say() {
	echo "images: $*" >&2
}

# Everything that the images' content depends on.
inputs() {
	# shellcheck disable=SC2086 # a list of names
	apt_of_kernel apt-cache policy $packages | grep -E '^[^ ]|Candidate:'
	sha256sum <"$here/build-images.sh"
	sha256sum <"$here/initramfs-init"
	sha256sum <"$here/load-module.c"
}

# apt_of_kernel PROGRAM ARGUMENT...
apt_of_kernel() {
	if [ -n "$debian" ]; then
		"$matrix/apt" "$debian" "$architecture" "$@"
	else
		"$@"
	fi
}

sources_of_kernel() {
	if [ -n "$debian" ]; then
		"$matrix/release-sources" "$debian"
	else
		"$here/debian-sources"
	fi
}

# It is linked with libkmod and the C library of the root.
compile_load_module() {
	if [ -z "$debian" ]; then
		gcc -O2 -Wall -Werror -o bin/load-module "$here/load-module.c" \
			-lkmod
		return
	fi
	mkdir "$work/load-module"
	cp "$here/load-module.c" "$work/load-module/"
	"$matrix/in-root" "$("$matrix/build-root" "$debian" "$architecture")" \
		"$work/load-module" gcc -O2 -Wall -Werror -o load-module \
		load-module.c -lkmod
	cp "$work/load-module/load-module" bin/
}

# For a test which shows that perf is the package's own: mmdebstrap runs this
# while the packages are still there, $1 is the root.
# shellcheck disable=SC2016 # expanded there
perf_checksum='for package in "$1"/var/cache/apt/archives/linux-perf*.deb; do
	dpkg-deb --ctrl-tarfile "$package" | tar -x -O ./md5sums
done | grep " usr/bin/perf[_0-9.]*$" >"$1/etc/perf.md5"'

build_root() {
	sources_of_kernel >"$work/sources"
	# Proxies and the like.
	apt-config dump Acquire >"$work/apt.conf"
	include=$(echo "$packages" | tr ' ' ',')
	mmdebstrap --quiet --mode=root --variant=extract \
		--architectures="$architecture" \
		--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
		--aptopt="$work/apt.conf" \
		--aptopt='APT::Install-Recommends "false"' \
		--include="$include" --extract-hook="$perf_checksum" \
		'' "$work/root" "$work/sources" >&2
	cd "$work/root"
	mkdir -p payload proc root run sys
	rm -rf dev/* usr/share/doc usr/share/info usr/share/locale \
		usr/share/man usr/share/perl
	ln -sf busybox bin/sh
	compile_load_module
	modules=lib/modules/$release
	rm -rf "$modules/kernel/sound" "$modules/kernel/net"
	find "$modules/kernel/drivers" -mindepth 1 -maxdepth 1 ! -name block \
		! -name char ! -name crypto ! -name virtio -exec rm -rf {} +
	depmod -b . "$release"
	cd "$work"
}

# A bzImage would decompress itself on every emulated boot, twice per test,
# so its payload is taken out here; qemu starts it by its PVH entry.
build_vmlinux() {
	image=$work/root/boot/vmlinuz-$release
	setup_sectors=$(field "$image" 497 1)
	offset=$(((setup_sectors + 1) * 512 + $(field "$image" 584 4)))
	length=$(field "$image" 588 4)
	# The last 4 bytes are the size, which is not part of the compressed stream.
	tail -c "+$((offset + 1))" "$image" | head -c "$((length - 4))" \
		>"$work/compressed"
	decompress "$work/compressed" >"$work/images/vmlinux"
}

# decompress FILE: kernels and modules are compressed in several ways, or not
decompress() {
	case $(field "$1" 0 4) in
	1484404733) xz -dc "$1" ;;
	4247762216) zstd -qdc "$1" ;;
	*) cat "$1" ;;
	esac
}

# field FILE OFFSET SIZE: an unsigned number in FILE
field() {
	od -A n -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

build_initramfs() {
	mkdir -p "$work/initramfs/bin" "$work/initramfs/modules" \
		"$work/initramfs/dev" "$work/initramfs/proc" \
		"$work/initramfs/root"
	cp "$work/root/bin/busybox" "$work/initramfs/bin/"
	install -m 755 "$here/initramfs-init" "$work/initramfs/init"
	# crc32c-intel refuses to load on CPU models without SSE 4.2;
	# crc32c_generic does the same everywhere.
	for module in virtio_pci virtio_blk virtio_console ext4; do
		modprobe -d "$work/root" -S "$release" --show-depends "$module"
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | grep -v crc32c-intel |
		awk '!seen[$0]++' >"$work/modules"
	while read -r module; do
		file=$(basename "${module%.ko*}").ko
		decompress "$module" >"$work/initramfs/modules/$file"
		echo "$file" >>"$work/initramfs/modules/order"
	done <"$work/modules"
	(cd "$work/initramfs" && find . | cpio --quiet -o -H newc) \
		>"$work/images/initramfs"
}

build_root_image() {
	rm -rf "$work/root/boot"/*
	cp "$work/images/vmlinux" "$work/images/initramfs" "$work/root/boot/"
	size=$(($(du -sm "$work/root" | cut -f 1) * 11 / 10 + 16))
	mke2fs -q -t ext4 -O ^has_journal,^metadata_csum -m 0 \
		-d "$work/root" "$work/images/root.ext4" "${size}M" >/dev/null
}

hash=$(inputs | sha256sum | cut -c 1-16)
images=$cache/$name-$hash
exec 9>"$cache/$name.lock"
flock 9
if [ ! -d "$images" ]; then
	if [ "$(id -u)" != 0 ]; then
		say "building them needs root"
		exit 1
	fi
	work=$(mktemp -d "$cache/work.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' INT TERM
	mkdir "$work/images"
	say "unpacking $packages"
	build_root
	say "making the kernel, the initramfs and the root image"
	build_vmlinux
	build_initramfs
	build_root_image
	echo "$release" >"$work/images/kernel-release"
	mv "$work/images" "$images"
	# Another checkout may still use its own.
	find "$cache" -maxdepth 1 -name 'images-*' -type d -mtime +7 \
		-exec rm -rf {} +
	find "$cache" -mindepth 2 -maxdepth 2 -path '*/runs/*' -mtime +7 \
		-exec rm -rf {} +
	say "ready in $images"
fi
touch "$images"
echo "$images"
