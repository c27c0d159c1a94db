// SPDX-License-Identifier: GPL-2.0
/*
 * A sampling event on the test PMU: see sampler.h.
 */
#include <err.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf.h"
#include "sampler.h"

#define BUFFER_SIZE	(4UL << 20)

/* PERF_SAMPLE_PERIOD and PERF_SAMPLE_READ, the latter as perf_counting_attr. */
struct sample {
	struct perf_event_header header;
	uint64_t period;
	uint64_t number;
	uint64_t enabled;
	uint64_t running;
	uint64_t count;
};

struct perf_event_attr sampling_attr(uint64_t config, uint64_t period)
{
	struct perf_event_attr attr =
		perf_counting_attr(PERF_TYPE_HARDWARE, config);

	attr.exclude_host = 1;
	attr.sample_type = PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
	attr.sample_period = period;
	return attr;
}

struct sampler open_sampler(const struct perf_event_attr *attr, int pid,
			    int cpu)
{
	struct sampler sampler = { .period = attr->sample_period };

	sampler.fd = perf_open_checked(attr, pid, cpu, -1);
	sampler.control = mmap(NULL, getpagesize() + BUFFER_SIZE,
			       PROT_READ | PROT_WRITE, MAP_SHARED, sampler.fd,
			       0);
	if (sampler.control == MAP_FAILED)
		err(EXIT_FAILURE, "no buffer for samples");
	return sampler;
}

void close_sampler(const struct sampler *sampler)
{
	munmap(sampler->control, getpagesize() + BUFFER_SIZE);
	close(sampler->fd);
}

uint64_t sampler_position(const struct sampler *sampler)
{
	return __atomic_load_n(&sampler->control->data_head, __ATOMIC_ACQUIRE);
}

static void copy_from_buffer(const struct sampler *sampler, uint64_t position,
			     void *to, size_t size)
{
	const char *data = (char *)sampler->control + getpagesize();
	char *bytes = to;
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = data[(position + i) % BUFFER_SIZE];
}

/*
 * The next sample stays in step with the period, unless this one is so late that
 * the next would be in the past.
 */
static void judge_sample(struct outcome *outcome, const struct sample *sample,
			 uint64_t period)
{
	uint64_t delay = sample->count - outcome->next_due;

	outcome->samples++;
	outcome->sum_of_periods += sample->period;
	if (sample->count < outcome->next_due) {
		outcome->too_early++;
		return;
	}
	outcome->late += delay > 0;
	outcome->late_by_half_a_period += delay > 0 && delay >= period / 2;
	if (delay >= period)
		outcome->next_due = sample->count;
	outcome->next_due += period;
}

static void take_record(const struct sampler *sampler, struct outcome *outcome,
			uint64_t position,
			const struct perf_event_header *header)
{
	struct sample sample;

	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		if (header->size != sizeof(sample))
			errx(EXIT_FAILURE, "a sample of %u bytes",
			     header->size);
		copy_from_buffer(sampler, position, &sample, sizeof(sample));
		judge_sample(outcome, &sample, sampler->period);
		break;
	case PERF_RECORD_THROTTLE:
		outcome->throttled++;
		break;
	case PERF_RECORD_UNTHROTTLE:
		break;
	default:
		outcome->others++;
		break;
	}
}

static void take_records(const struct sampler *sampler, struct outcome *outcome)
{
	uint64_t head = sampler_position(sampler);
	uint64_t tail = sampler->control->data_tail;
	struct perf_event_header header;

	while (tail < head) {
		copy_from_buffer(sampler, tail, &header, sizeof(header));
		take_record(sampler, outcome, tail, &header);
		tail += header.size;
	}
	__atomic_store_n(&sampler->control->data_tail, tail, __ATOMIC_RELEASE);
}

struct outcome end_sampling(const struct sampler *sampler)
{
	struct outcome outcome = { .next_due = sampler->period };

	perf_disable(sampler->fd, false);
	take_records(sampler, &outcome);
	outcome.count = perf_value(sampler->fd);
	return outcome;
}
