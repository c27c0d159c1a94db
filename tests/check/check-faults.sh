#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check: every fault patch applies and names tests that exist
. tests/check/lib.sh
. tests/faults/lib.sh

mapfile -t patches < <(files 'tests/faults/*.patch')
none "$(fault_problems "${patches[@]}")"
