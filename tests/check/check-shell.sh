#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: shellcheck has nothing to say about any shell script
. tests/check/lib.sh

mapfile -t scripts < <(shell_scripts)
shellcheck --external-sources "${scripts[@]}"
