// SPDX-License-Identifier: GPL-2.0
/*
 * What test programs need of the host's kernel: see host-kernel.h.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "host-kernel.h"

#define SAMPLE_RATE	"/proc/sys/kernel/perf_event_max_sample_rate"

uint64_t sample_rate(void)
{
	FILE *file = fopen(SAMPLE_RATE, "re");
	unsigned int rate;

	if (!file || fscanf(file, "%u", &rate) != 1)
		err(EXIT_FAILURE, SAMPLE_RATE);
	fclose(file);
	return rate;
}

void set_sample_rate(uint64_t rate)
{
	FILE *file = fopen(SAMPLE_RATE, "we");

	if (!file || fprintf(file, "%llu\n", (unsigned long long)rate) < 0 ||
	    fclose(file))
		err(EXIT_FAILURE, SAMPLE_RATE);
}

uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

void spin(uint64_t nsec)
{
	uint64_t end = now() + nsec;

	while (now() < end)
		;
}
