/* SPDX-License-Identifier: GPL-2.0 */
/* One line per check, as a table fit for a terminal. */
#ifndef KVM_PVPERF_TOOLS_REPORT_H
#define KVM_PVPERF_TOOLS_REPORT_H

#include <stdbool.h>

/**
 * enum verdict - of one check
 * @GOOD: as it must be
 * @NOTE: worth knowing, no obstacle
 * @BAD: the module cannot work here, or does not
 */
enum verdict { GOOD, NOTE, BAD };

/* @format: what was found, and, if it is bad, what to do next. */
[[gnu::format(printf, 3, 4)]]
void report(enum verdict verdict, const char *check, const char *format, ...);

/* Has anything been bad? */
bool report_has_failed(void);

#endif
