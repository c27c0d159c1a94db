#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: nothing names a place that only one machine has
. tests/check/lib.sh

# Home directories and work trees of somebody, and hosts of package archives:
# those are to be taken from the machine's own configuration.
mapfile -t sources < <(files ':!LICENSE' ":!${BASH_SOURCE[0]}")
mapfile -t code < <(files ':!LICENSE' ':!*.md' ":!${BASH_SOURCE[0]}")
none "$(
	grep -InE '(^|[^[:alnum:]_./})-])/(home|work)/' "${sources[@]}"
	grep -InE '(https?|ftp)://|\b(deb|security|snapshot|ftp)\.debian\.org' "${code[@]}"
)"
