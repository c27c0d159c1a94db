#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: nothing is marked as unfinished, and no failure is thrown away
. tests/check/lib.sh

mapfile -t sources < <(files ':!LICENSE' ":!${BASH_SOURCE[0]}")
none "$(
	grep -InwE 'TODO|FIXME|XXX|HACK' "${sources[@]}"
	grep -InE '\|\| *(true|:)( |;|\)|$)' "${sources[@]}"
)"
