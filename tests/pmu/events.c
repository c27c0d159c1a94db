// SPDX-License-Identifier: GPL-2.0
/*
 * What each event counts: from attr to a value that only grows on each CPU.
 */
#include <asm/msr.h>
#include <asm/tsc.h>
#include <linux/math64.h>
#include <linux/perf_event.h>

#include "test-pmu.h"

#define RAW_EXACT		0xe0
#define RAW_SCALED_BASE		0x100
#define RAW_SCALED_MAX_FACTOR	63

DEFINE_PER_CPU(struct guest_activity, guest_activity);

/* An event is source * multiplier / divisor; a divisor of 0 is no event. */
struct event_kind {
	enum event_source source;
	u32 multiplier;
	u32 divisor;
};

static const struct event_kind hardware_kinds[PERF_COUNT_HW_MAX] = {
	[PERF_COUNT_HW_CPU_CYCLES]		= { SOURCE_TIME, 1, 1 },
	[PERF_COUNT_HW_INSTRUCTIONS]		= { SOURCE_TIME, 2, 1 },
	[PERF_COUNT_HW_CACHE_REFERENCES]	= { SOURCE_TIME, 1, 8 },
	[PERF_COUNT_HW_CACHE_MISSES]		= { SOURCE_TIME, 1, 64 },
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS]	= { SOURCE_TIME, 1, 4 },
	[PERF_COUNT_HW_BRANCH_MISSES]		= { SOURCE_TIME, 1, 128 },
	[PERF_COUNT_HW_BUS_CYCLES]		= { SOURCE_PORT_WRITES, 1, 1 },
	[PERF_COUNT_HW_REF_CPU_CYCLES]		= { SOURCE_TIME, 1, 1 },
};

#define CACHE_CONFIG(cache, op, result) \
	(PERF_COUNT_HW_CACHE_##cache | \
	 PERF_COUNT_HW_CACHE_OP_##op << 8 | \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static struct event_kind find_kind(u32 type, u64 config)
{
	switch (type) {
	case PERF_TYPE_HARDWARE:
		if (config < ARRAY_SIZE(hardware_kinds))
			return hardware_kinds[config];
		break;
	case PERF_TYPE_HW_CACHE:
		if (config == CACHE_CONFIG(L1D, READ, ACCESS))
			return (struct event_kind){ SOURCE_TIME, 1, 2 };
		if (config == CACHE_CONFIG(L1D, READ, MISS))
			return (struct event_kind){ SOURCE_TIME, 1, 32 };
		break;
	case PERF_TYPE_RAW:
		if (config == RAW_EXACT)
			return (struct event_kind){ SOURCE_PORT_WRITES, 1, 1 };
		if (config > RAW_SCALED_BASE &&
		    config <= RAW_SCALED_BASE + RAW_SCALED_MAX_FACTOR)
			return (struct event_kind){
				SOURCE_TIME, config - RAW_SCALED_BASE, 1
			};
		break;
	}
	return (struct event_kind){};
}

int event_resolve(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	struct event_kind kind = find_kind(attr->type, attr->config);

	if (!kind.divisor)
		return -ENOENT;
	if (attr->config1 || attr->config2)
		return -EINVAL;

	event->hw.config_base = kind.source;
	event->hw.config = kind.multiplier;
	event->hw.event_base = kind.divisor;
	return 0;
}

/*
 * The kernel may refine tsc_khz later.  Values must not jump then, so the one
 * of load time stays.
 */
static u32 cycles_per_msec;

int event_clock_init(void)
{
	cycles_per_msec = tsc_khz;
	return cycles_per_msec ? 0 : -ENODEV;
}

static u64 guest_part(const struct perf_event *event,
		      const u64 by_mode[GUEST_MODES])
{
	u64 sum = 0;

	if (event->attr.exclude_guest)
		return 0;
	if (!event->attr.exclude_kernel)
		sum += by_mode[GUEST_KERNEL];
	if (!event->attr.exclude_user)
		sum += by_mode[GUEST_USER];
	return sum;
}

bool event_counts_host(const struct perf_event *event)
{
	return event_source(event) == SOURCE_TIME &&
	       !event->attr.exclude_host && !event->attr.exclude_kernel;
}

static u64 host_cycles(const struct perf_event *event,
		       const u64 mode_cycles[GUEST_MODES])
{
	if (!event_counts_host(event))
		return 0;
	return rdtsc_ordered() - mode_cycles[GUEST_KERNEL] -
	       mode_cycles[GUEST_USER];
}

/*
 * Converting the ever growing value, instead of each difference of it, keeps
 * the rounding of one start and stop below one event.
 */
static u64 scale(const struct perf_event *event, u64 value)
{
	return mul_u64_u64_div_u64(value, event->hw.config,
				   event->hw.event_base);
}

/* Call it on the CPU where the event is active, with interrupts off. */
u64 event_value(const struct perf_event *event)
{
	const struct guest_activity *activity = this_cpu_ptr(&guest_activity);
	u64 cycles;

	if (event_source(event) == SOURCE_PORT_WRITES)
		return scale(event, guest_part(event, activity->port_writes));

	cycles = guest_part(event, activity->mode_cycles) +
		 host_cycles(event, activity->mode_cycles);
	return scale(event, mul_u64_u32_div(cycles, NSEC_PER_MSEC,
					    cycles_per_msec));
}

u64 event_time_left(const struct perf_event *event)
{
	s64 left = local64_read(&event->hw.period_left);

	if (left <= 0)
		return 0;
	return mul_u64_u64_div_u64(left, event->hw.event_base,
				   event->hw.config) + 1;
}
