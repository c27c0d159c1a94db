// SPDX-License-Identifier: GPL-2.0
/*
 * Figures of the test PMU module in the host VM: see test-pmu-parameter.h.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test-pmu-parameter.h"

#define DIRECTORY	"/sys/module/kvm_pvperf_test_pmu/parameters/"
#define SETTLE_TRIES	1000
#define SETTLE_STEP_US	10000

uint64_t test_pmu_parameter(const char *name)
{
	unsigned long long value;
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), DIRECTORY "%s", name);
	file = fopen(path, "re");
	if (!file)
		err(EXIT_FAILURE, "%s", path);
	if (fscanf(file, "%llu", &value) != 1)
		errx(EXIT_FAILURE, "%s: no number", path);
	fclose(file);
	return value;
}

void set_test_pmu_parameter(const char *name, uint64_t value)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), DIRECTORY "%s", name);
	file = fopen(path, "we");
	if (!file || fprintf(file, "%llu\n", (unsigned long long)value) < 0 ||
	    fclose(file))
		err(EXIT_FAILURE, "%s", path);
}

uint64_t test_pmu_parameter_settled(const char *name, uint64_t value)
{
	int tries;

	for (tries = 0; tries < SETTLE_TRIES; tries++) {
		if (test_pmu_parameter(name) == value)
			break;
		usleep(SETTLE_STEP_US);
	}
	return test_pmu_parameter(name);
}
