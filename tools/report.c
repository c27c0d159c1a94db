// SPDX-License-Identifier: GPL-2.0
#include "report.h"

#include <stdarg.h>
#include <stdio.h>

static bool has_failed;

void report(enum verdict verdict, const char *check, const char *format, ...)
{
	static const char *const names[] = {
		[GOOD] = "ok", [NOTE] = "note", [BAD] = "FAIL",
	};
	va_list arguments;

	if (verdict == BAD)
		has_failed = true;

	printf("%-18s %-5s ", check, names[verdict]);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
}

bool report_has_failed(void)
{
	return has_failed;
}
