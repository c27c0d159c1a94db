#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: kernel-doc comments describe what they stand above
. tests/check/lib.sh

kernel_doc=$(kernel_script kernel-doc)
mapfile -t sources < <(c_files)
"$kernel_doc" -none -Werror "${sources[@]}"
