/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parameters of this project's modules in the host VM.
 */
#ifndef KVM_PVPERF_TESTS_MODULE_PARAMETER_H
#define KVM_PVPERF_TESTS_MODULE_PARAMETER_H

#include <stdint.h>

/* Values of the test PMU's parameter "late". */
enum way { AT_ONCE, BY_NMI, BY_TIMER, ANY_WAY, WAYS };

/* One of the test PMU's, by name; ends the program if there is none. */
uint64_t test_pmu_parameter(const char *name);

/* Sets one; ends the program if it cannot be set to that. */
void set_test_pmu_parameter(const char *name, uint64_t value);

/*
 * Reads one like test_pmu_parameter(), but waits up to some seconds until it has
 * this value, because the kernel may free events later than it closes them.
 */
uint64_t test_pmu_parameter_settled(const char *name, uint64_t value);

/* The same for the host's module; values of its parameters may be words. */
uint64_t host_parameter(const char *name);
void set_host_parameter(const char *name, const char *value);
uint64_t host_parameter_settled(const char *name, uint64_t value);

#endif
