#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Makes sure that the cache holds the images of the emulated machines and
# prints the directory with them: kernel-release, vmlinux, initramfs and
# root.ext4, which serve the host VM and the nested guests alike.
set -eu

here=$(dirname "$(readlink -f "$0")")
cache=$("$here/cache-directory")
release=$("$here/kernel-release")
packages="linux-image-$release qemu-system-x86 linux-perf kmod busybox-static"

say() {
	echo "images: $*" >&2
}

# Everything that the images' content depends on.
inputs() {
	# shellcheck disable=SC2086 # a list of names
	apt-cache policy $packages | grep -E '^[^ ]|Candidate:'
	sha256sum <"$here/build-images.sh"
	sha256sum <"$here/initramfs-init"
	sha256sum <"$here/load-module.c"
}

# For a test which shows that perf is the package's own: mmdebstrap runs this
# while the packages are still there, $1 is the root.
# shellcheck disable=SC2016 # expanded there
perf_checksum='dpkg-deb --ctrl-tarfile "$1"/var/cache/apt/archives/linux-perf_*.deb |
	tar -x -O ./md5sums | grep " usr/bin/perf$" >"$1/etc/perf.md5"'

build_root() {
	"$here/debian-sources" >"$work/sources"
	# Proxies and the like.
	apt-config dump Acquire >"$work/apt.conf"
	include=$(echo "$packages" | tr ' ' ',')
	mmdebstrap --quiet --mode=root --variant=extract \
		--aptopt="$work/apt.conf" \
		--aptopt='APT::Install-Recommends "false"' \
		--include="$include" --extract-hook="$perf_checksum" \
		'' "$work/root" "$work/sources" >&2
	cd "$work/root"
	mkdir -p payload proc root run sys
	rm -rf dev/* usr/share/doc usr/share/info usr/share/locale \
		usr/share/man usr/share/perl
	ln -sf busybox bin/sh
	gcc -O2 -Wall -Werror -o bin/load-module "$here/load-module.c" -lkmod
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
	# The last 4 bytes are the size, which is not part of the xz stream.
	tail -c "+$((offset + 1))" "$image" | head -c "$((length - 4))" |
		xz -dc >"$work/images/vmlinux"
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
		cp "$module" "$work/initramfs/modules/"
		basename "$module" >>"$work/initramfs/modules/order"
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
images=$cache/images-$hash
exec 9>"$cache/lock"
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
	find "$cache" -maxdepth 1 -name 'images-*' -mtime +7 -exec rm -rf {} +
	find "$cache" -mindepth 2 -maxdepth 2 -path '*/runs/*' -mtime +7 \
		-exec rm -rf {} +
	say "ready in $images"
fi
touch "$images"
echo "$images"
