/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sampling event on port writes in the guest, and a judgement of each of its
 * samples, for which there is one right answer each.
 */
#ifndef KVM_PVPERF_TESTS_GUEST_SAMPLER_H
#define KVM_PVPERF_TESTS_GUEST_SAMPLER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_MEMBERS	31

/* What a sampler is to sample. */
struct sampler_request {
	/* One of them is 0. */
	uint64_t period;
	uint64_t frequency;

	bool is_raw;
	bool excludes_user;
	bool excludes_kernel;

	/* Counting events of the same kind, of which it is the leader. */
	unsigned int members;

	/* As perf_event_open() has them. */
	int pid;
	int cpu;

	/* Where the writes are made. */
	bool has_user_writes;
	bool has_kernel_writes;

	/* What the buffer must have room for. */
	uint64_t samples;
};

/*
 * What was found in the buffer.  A sample should tell of one overflow, at the
 * instruction behind the write, in its mode, and hold the count that all events
 * of its group had then: a sample for which one of that is not so is late.
 */
struct sampler_findings {
	uint64_t samples;
	uint64_t sum_of_periods;
	uint64_t lost;
	uint64_t throttled;

	uint64_t coalesced;
	uint64_t wrong_address;
	uint64_t wrong_mode;
	uint64_t wrong_count;
	uint64_t late;

	/* These are no multiples of the period, of others, or elsewhere. */
	uint64_t wrong_period;
	uint64_t wrong_task;
	uint64_t wrong_cpu;

	/* Which is wrong where the kernel is excluded. */
	uint64_t from_kernel;

	/* Of the leader; of the member that has counted something else. */
	uint64_t count;
	uint64_t other_count;
	uint64_t enabled;
	uint64_t running;
};

struct guest_sampler {
	struct sampler_request request;
	struct sampler_findings findings;
	int fd;
	int member_fds[MAX_MEMBERS];
	struct perf_event_mmap_page *control;
	uint64_t buffer_size;
};

/* Disabled.  Ends the program on failure, as all of these do. */
struct guest_sampler open_guest_sampler(const struct sampler_request *request);
void close_guest_sampler(const struct guest_sampler *sampler);

/* Takes all records, and reads the counts. */
void take_samples(struct guest_sampler *sampler);

#endif
