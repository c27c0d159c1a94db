// SPDX-License-Identifier: GPL-2.0
/*
 * Output of test programs in the Test Anything Protocol: see tap.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tap.h"

static unsigned int results;
static unsigned int failures;

static bool report(bool passed, const char *format, va_list arguments)
{
	printf("%sok %u - ", passed ? "" : "not ", ++results);
	vprintf(format, arguments);
	putchar('\n');
	fflush(stdout);
	if (!passed)
		failures++;
	return passed;
}

bool tap_ok(bool passed, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report(passed, format, arguments);
	va_end(arguments);
	return passed;
}

bool tap_equal(long long got, long long expected, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report(got == expected, format, arguments);
	va_end(arguments);
	if (got != expected)
		tap_note("got %lld (%#llx), expected %lld (%#llx)", got, got,
			 expected, expected);
	return got == expected;
}

void tap_note(const char *format, ...)
{
	va_list arguments;

	fputs("# ", stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
}

int tap_done(void)
{
	printf("1..%u\n", results);
	return results && !failures ? EXIT_SUCCESS : EXIT_FAILURE;
}
