/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output of test programs in the Test Anything Protocol.
 */
#ifndef KVM_PVPERF_TESTS_TAP_H
#define KVM_PVPERF_TESTS_TAP_H

#include <stdbool.h>

/* One result, described by the format; returns @passed. */
[[gnu::format(printf, 2, 3)]]
bool tap_ok(bool passed, const char *format, ...);

/* One result: are the numbers equal?  Shows both if not. */
[[gnu::format(printf, 3, 4)]]
bool tap_equal(long long got, long long expected, const char *format, ...);

/* A remark. */
[[gnu::format(printf, 1, 2)]]
void tap_note(const char *format, ...);

/* The plan, printed last; returns the program's exit status. */
int tap_done(void);

#endif
