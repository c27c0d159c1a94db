#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: every test and every script can be executed
. tests/check/lib.sh

not_executable() {
	local file
	files | while IFS= read -r file; do
		if [ ! -x "$file" ] &&
			head -c 2 "$file" | LC_ALL=C grep -aq '^#!'; then
			echo "$file: begins with #! but is not executable"
		fi
	done
	files '*.t' | while IFS= read -r file; do
		if [ ! -x "$file" ]; then
			echo "$file: not executable"
		fi
	done
}

none "$(not_executable)"
