// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of each CPU: who has them, what they have counted, and how much of
 * a sampling event's period is left.
 *
 * All of it happens on the CPU of the counter with interrupts off, and may be
 * interrupted by an NMI that does the same.
 */
#include <linux/bitmap.h>
#include <linux/module.h>

#include "test-pmu.h"

static unsigned int counters = 8;

static int set_counters(const char *text, const struct kernel_param *parameter)
{
	return param_set_uint_minmax(text, parameter, 1, TEST_PMU_MAX_COUNTERS);
}

static const struct kernel_param_ops counters_ops = {
	.set = set_counters,
	.get = param_get_uint,
};

module_param_cb(counters, &counters_ops, &counters, 0644);
MODULE_PARM_DESC(counters, "counters of each CPU, 1 to 64 (default 8)");

DEFINE_PER_CPU(struct counter_set, counter_sets);

unsigned int counters_per_cpu(void)
{
	return READ_ONCE(counters);
}

bool counter_take(struct perf_event *event)
{
	struct counter_set *set = this_cpu_ptr(&counter_sets);
	struct hw_perf_event *hwc = &event->hw;

	if (bitmap_weight(set->used, TEST_PMU_MAX_COUNTERS) >=
	    counters_per_cpu()) {
		statistic_count(STATISTIC_ADD_FAILURES);
		return false;
	}

	hwc->idx = find_first_zero_bit(set->used, TEST_PMU_MAX_COUNTERS);
	hwc->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	set->events[hwc->idx] = event;
	__set_bit(hwc->idx, set->used);
	if (is_sampling_event(event))
		__set_bit(hwc->idx, set->sampling[event_source(event)]);
	statistic_count(STATISTIC_ADDS);
	return true;
}

void counter_give_back(struct perf_event *event)
{
	struct counter_set *set = this_cpu_ptr(&counter_sets);
	struct hw_perf_event *hwc = &event->hw;

	__clear_bit(hwc->idx, set->sampling[event_source(event)]);
	__clear_bit(hwc->idx, set->used);
	set->events[hwc->idx] = NULL;
	hwc->idx = -1;
	statistic_count(STATISTIC_DELS);
}

void counter_start(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;

	counter_next_period(event);
	local64_set(&hwc->prev_count, event_value(event));
	barrier();
	hwc->state = 0;
	statistic_count(STATISTIC_STARTS);
}

/*
 * What is counted keeps growing after a stop, so a stop takes the count even
 * when its caller leaves that for later.
 */
void counter_stop(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;

	hwc->state = PERF_HES_STOPPED;
	barrier();
	counter_update(event);
	hwc->state |= PERF_HES_UPTODATE;
	statistic_count(STATISTIC_STOPS);
	if (is_sampling_event(event) && local64_read(&hwc->period_left) <= 0)
		statistic_count(STATISTIC_OVERFLOWS_DROPPED);
}

void counter_update(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 before, now;

	do {
		before = local64_read(&hwc->prev_count);
		now = event_value(event);
	} while (local64_cmpxchg(&hwc->prev_count, before, now) != before);

	local64_add(now - before, &event->count);
	local64_sub(now - before, &hwc->period_left);
}

/* As x86_perf_event_set_period() does it. */
bool counter_next_period(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	s64 left = local64_read(&hwc->period_left);
	s64 period = hwc->sample_period;

	if (!is_sampling_event(event) || left > 0)
		return false;

	if (left <= -period)
		left = 0;
	local64_set(&hwc->period_left, left + period);
	hwc->last_period = period;
	return true;
}
