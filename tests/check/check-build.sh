#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: everything builds without a warning of gcc (W=1) or sparse (C=2)
. tests/check/lib.sh

# In a copy: an up-to-date tree would build nothing and warn of nothing.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
files | tar -c -T - | tar -x -C "$copy"

if ! make -s -C "$copy" test-modules W=1 C=2 >"$copy/log" 2>&1 ||
	! make -s -C "$copy" test-programs >>"$copy/log" 2>&1; then
	cat "$copy/log"
	exit 1
fi
none "$(grep -E 'warning:|error:|^WARNING:|^ERROR:' "$copy/log")"
