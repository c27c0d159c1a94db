#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: every source file states its license
. tests/check/lib.sh

# A fault patch is a change to files that do; text needs none, and debian/copyright is
# what says it in Debian packages.
unlicensed() {
	local file
	files ':!LICENSE' ':!VERSION' ':!.gitignore' ':!*.md' ':!*.patch' ':!packaging/debian' |
		while IFS= read -r file; do
			if ! head -n 3 "$file" | LC_ALL=C grep -aq 'SPDX-License-Identifier: GPL-2.0'; then
				echo "$file: no SPDX-License-Identifier in its first lines"
			fi
		done
}

none "$(unlicensed)"
