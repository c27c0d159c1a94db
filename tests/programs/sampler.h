/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sampling event on the test PMU, and a judgement of each of its samples.
 */
#ifndef KVM_PVPERF_TESTS_SAMPLER_H
#define KVM_PVPERF_TESTS_SAMPLER_H

#include <linux/perf_event.h>
#include <stdint.h>

struct sampler {
	int fd;
	uint64_t period;
	struct perf_event_mmap_page *control;
};

/* What a run has counted and left in the buffer. */
struct outcome {
	uint64_t count;
	uint64_t samples;
	uint64_t sum_of_periods;
	uint64_t throttled;
	/* Records that are none of the above, such as those of lost ones. */
	uint64_t others;

	/* By the rules of x86, which put a sample at a certain count. */
	uint64_t next_due;
	uint64_t too_early;
	uint64_t late;
	uint64_t late_by_half_a_period;
};

/*
 * An attribute for samples of a hardware event of guests, as struct sampler needs
 * it: each holds its period and the count at that moment.
 */
struct perf_event_attr sampling_attr(uint64_t config, uint64_t period);

/* Ends the program on failure, as all of these do. */
struct sampler open_sampler(const struct perf_event_attr *attr, int pid,
			    int cpu);
void close_sampler(const struct sampler *sampler);

/* Where the next record will be: changes with each one. */
uint64_t sampler_position(const struct sampler *sampler);

/*
 * Disables the event and takes all records.  Where samples are is judged from the
 * first one on, so that holds for a sampler that has been enabled only once.
 */
struct outcome end_sampling(const struct sampler *sampler);

#endif
