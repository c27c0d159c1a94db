// SPDX-License-Identifier: GPL-2.0
/*
 * A sampling event on port writes in the guest: see guest-sampler.h.
 */
#include <err.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "guest-sampler.h"
#include "perf.h"

#define RAW_EXACT	0xe0

/* As perf lays it out for the sample_type below. */
struct sample {
	struct perf_event_header header;
	uint64_t address;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	uint32_t reserved;
	uint64_t period;
	uint64_t number;
	uint64_t enabled;
	uint64_t running;
	uint64_t counts[1 + MAX_MEMBERS];
};

#define SAMPLE_TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CPU | \
			 PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ)

struct lost {
	struct perf_event_header header;
	uint64_t id;
	uint64_t lost;
};

static size_t size_of_sample(const struct guest_sampler *sampler)
{
	return offsetof(struct sample, counts) +
	       (1 + sampler->request.members) * sizeof(uint64_t);
}

/* The kernel wants a power of 2 of pages. */
static uint64_t buffer_size_for(uint64_t bytes)
{
	uint64_t size = getpagesize();

	while (size < bytes)
		size *= 2;
	return size;
}

struct guest_sampler open_guest_sampler(const struct sampler_request *request)
{
	struct guest_sampler sampler = { .request = *request };
	struct perf_event_attr attr =
		perf_counting_attr(request->is_raw ? PERF_TYPE_RAW :
						     PERF_TYPE_HARDWARE,
				   request->is_raw ? RAW_EXACT :
						     PERF_COUNT_HW_BUS_CYCLES);
	unsigned int i;

	attr.exclude_user = request->excludes_user;
	attr.exclude_kernel = request->excludes_kernel;
	attr.sample_type = SAMPLE_TYPE;
	attr.freq = request->frequency != 0;
	attr.sample_period = attr.freq ? request->frequency : request->period;
	sampler.fd = perf_open_checked(&attr, request->pid, request->cpu, -1);

	attr.disabled = 0;
	attr.freq = 0;
	attr.sample_period = 0;
	attr.sample_type = 0;
	for (i = 0; i < request->members; i++)
		sampler.member_fds[i] = perf_open_checked(&attr, request->pid,
							  request->cpu,
							  sampler.fd);

	/* Twice the room, for records of other kinds. */
	sampler.buffer_size = buffer_size_for(2 * request->samples *
					      size_of_sample(&sampler));
	sampler.control = mmap(NULL, getpagesize() + sampler.buffer_size,
			       PROT_READ | PROT_WRITE, MAP_SHARED, sampler.fd,
			       0);
	if (sampler.control == MAP_FAILED)
		err(EXIT_FAILURE, "no buffer for samples");
	return sampler;
}

void close_guest_sampler(const struct guest_sampler *sampler)
{
	unsigned int i;

	munmap(sampler->control, getpagesize() + sampler->buffer_size);
	for (i = 0; i < sampler->request.members; i++)
		close(sampler->member_fds[i]);
	close(sampler->fd);
}

/* Read once: the module that has it stays. */
static uint64_t address_after_kernel_write(void)
{
	static uint64_t address;
	unsigned long long found;
	char name[64];
	FILE *file;
	int fields;

	if (address)
		return address;

	file = fopen("/proc/kallsyms", "re");
	if (!file)
		err(EXIT_FAILURE, "/proc/kallsyms");
	do {
		fields = fscanf(file, "%llx %*c %63s%*[^\n]", &found, name);
		if (fields == 2 && !strcmp(name, "kvm_pvperf_after_write"))
			address = found;
	} while (fields != EOF && !address);
	fclose(file);
	if (!address)
		errx(EXIT_FAILURE, "no address in /proc/kallsyms");
	return address;
}

/* PERF_RECORD_MISC_* of the write that the sample is of; 0 if it is of none. */
static unsigned int mode_of_write(const struct sampler_request *request,
				  uint64_t address)
{
	if (request->has_user_writes && !request->excludes_user &&
	    address == (uintptr_t)after_exact_write)
		return PERF_RECORD_MISC_USER;
	if (request->has_kernel_writes && !request->excludes_kernel &&
	    address == address_after_kernel_write())
		return PERF_RECORD_MISC_KERNEL;
	return 0;
}

static bool has_right_counts(const struct guest_sampler *sampler,
			     const struct sample *sample)
{
	unsigned int i;

	if (sample->number != 1 + sampler->request.members)
		return false;
	for (i = 0; i < sample->number; i++)
		if (sample->counts[i] != sampler->findings.sum_of_periods)
			return false;
	return true;
}

static void judge_sample(struct guest_sampler *sampler,
			 const struct sample *sample)
{
	const struct sampler_request *request = &sampler->request;
	struct sampler_findings *findings = &sampler->findings;
	bool is_coalesced, is_wrong_address, is_wrong_mode, is_wrong_count;
	unsigned int sample_mode =
		sample->header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
	unsigned int mode = mode_of_write(request, sample->address);

	findings->samples++;
	findings->sum_of_periods += sample->period;

	is_coalesced = request->period && sample->period > request->period;
	is_wrong_address = !mode;
	is_wrong_mode = mode && sample_mode != mode;
	is_wrong_count = !has_right_counts(sampler, sample);
	findings->coalesced += is_coalesced;
	findings->wrong_address += is_wrong_address;
	findings->wrong_mode += is_wrong_mode;
	findings->wrong_count += is_wrong_count;
	findings->late += is_coalesced || is_wrong_address || is_wrong_mode ||
			  is_wrong_count;

	findings->from_kernel += sample_mode == PERF_RECORD_MISC_KERNEL;
	findings->wrong_period += !sample->period ||
				  (request->period &&
				   sample->period % request->period);
	findings->wrong_task += sample->pid != (uint32_t)getpid() ||
				sample->tid != (uint32_t)gettid();
	findings->wrong_cpu += request->cpu >= 0 &&
			       sample->cpu != (uint32_t)request->cpu;
}

static void copy_from_buffer(const struct guest_sampler *sampler,
			     uint64_t position, void *to, size_t size)
{
	const char *data = (char *)sampler->control + getpagesize();
	char *bytes = to;
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = data[(position + i) % sampler->buffer_size];
}

static void take_record(struct guest_sampler *sampler, uint64_t position,
			const struct perf_event_header *header)
{
	struct sample sample;
	struct lost lost;

	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		if (header->size != size_of_sample(sampler))
			errx(EXIT_FAILURE, "a sample of %u bytes",
			     header->size);
		copy_from_buffer(sampler, position, &sample, header->size);
		judge_sample(sampler, &sample);
		break;
	case PERF_RECORD_LOST:
		copy_from_buffer(sampler, position, &lost, sizeof(lost));
		sampler->findings.lost += lost.lost;
		break;
	case PERF_RECORD_THROTTLE:
		sampler->findings.throttled++;
		break;
	case PERF_RECORD_UNTHROTTLE:
		break;
	default:
		errx(EXIT_FAILURE, "a record of type %u", header->type);
	}
}

void take_samples(struct guest_sampler *sampler)
{
	uint64_t head = __atomic_load_n(&sampler->control->data_head,
					__ATOMIC_ACQUIRE);
	uint64_t tail = sampler->control->data_tail;
	struct perf_event_header header;
	struct perf_counts counts;
	unsigned int i;

	while (tail < head) {
		copy_from_buffer(sampler, tail, &header, sizeof(header));
		take_record(sampler, tail, &header);
		tail += header.size;
	}
	__atomic_store_n(&sampler->control->data_tail, tail, __ATOMIC_RELEASE);

	counts = perf_read(sampler->fd);
	sampler->findings.count = counts.values[0];
	sampler->findings.other_count = counts.values[0];
	sampler->findings.enabled = counts.enabled;
	sampler->findings.running = counts.running;
	for (i = 1; i < counts.number; i++)
		if (counts.values[i] != counts.values[0])
			sampler->findings.other_count = counts.values[i];
}
