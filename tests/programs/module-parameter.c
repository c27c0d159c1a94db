// SPDX-License-Identifier: GPL-2.0
/*
 * Parameters of modules in the host VM: see module-parameter.h.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "module-parameter.h"

#define HOST_MODULE	"kvm_pvperf_host"
#define TEST_PMU	"kvm_pvperf_test_pmu"
#define SETTLE_TRIES	1000
#define SETTLE_STEP_US	10000

static void make_path(char path[256], const char *module, const char *name)
{
	snprintf(path, 256, "/sys/module/%s/parameters/%s", module, name);
}

static uint64_t get(const char *module, const char *name)
{
	unsigned long long value;
	char path[256];
	FILE *file;

	make_path(path, module, name);
	file = fopen(path, "re");
	if (!file)
		err(EXIT_FAILURE, "%s", path);
	if (fscanf(file, "%llu", &value) != 1)
		errx(EXIT_FAILURE, "%s: no number", path);
	fclose(file);
	return value;
}

static void set(const char *module, const char *name, const char *value)
{
	char path[256];
	FILE *file;

	make_path(path, module, name);
	file = fopen(path, "we");
	if (!file || fprintf(file, "%s\n", value) < 0 || fclose(file))
		err(EXIT_FAILURE, "%s: %s", path, value);
}

static uint64_t get_settled(const char *module, const char *name,
			    uint64_t value)
{
	int tries;

	for (tries = 0; tries < SETTLE_TRIES; tries++) {
		if (get(module, name) == value)
			break;
		usleep(SETTLE_STEP_US);
	}
	return get(module, name);
}

uint64_t test_pmu_parameter(const char *name)
{
	return get(TEST_PMU, name);
}

void set_test_pmu_parameter(const char *name, uint64_t value)
{
	char number[32];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
	set(TEST_PMU, name, number);
}

uint64_t test_pmu_parameter_settled(const char *name, uint64_t value)
{
	return get_settled(TEST_PMU, name, value);
}

uint64_t host_parameter(const char *name)
{
	return get(HOST_MODULE, name);
}

void set_host_parameter(const char *name, const char *value)
{
	set(HOST_MODULE, name, value);
}

uint64_t host_parameter_settled(const char *name, uint64_t value)
{
	return get_settled(HOST_MODULE, name, value);
}
