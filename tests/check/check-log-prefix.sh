#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: each module defines the prefix of its log lines in one place
. tests/check/lib.sh

wrong_prefixes() {
	local kbuild module definitions
	files '*/Kbuild' | while IFS= read -r kbuild; do
		module=$(dirname "$kbuild")
		definitions=$(files "$module/*.c" "$module/*.h" |
			xargs -d '\n' cat | grep -c '^#define pr_fmt(')
		if [ "$definitions" != 1 ]; then
			echo "$module: $definitions definitions of pr_fmt"
		fi
	done
}

none "$(wrong_prefixes)"
