// SPDX-License-Identifier: GPL-2.0
/*
 * The perf core stops an event that has overflowed too often within a tick, and
 * starts it again at the next tick, but goes on regarding it as running.  Nobody
 * is told when it starts again.  But an event can only be throttled by overflows
 * that follow each other closely from the beginning of the tick on: so the first
 * of them says when the tick ends, with an error of one sample period.
 */
#include "log.h"
#include "throttling.h"

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>

/* MAX_INTERRUPTS of kernel/events/core.c, which no header has. */
#define PERF_CORE_HAS_THROTTLED	(~0ULL)

static bool is_throttled(const struct perf_event *event)
{
	return READ_ONCE(event->hw.interrupts) == PERF_CORE_HAS_THROTTLED;
}

/* Whoever takes @since accounts for it: an overflow may interrupt a report. */
static void account_past(struct throttling *throttling, u64 now)
{
	u64 since = xchg(&throttling->since, 0);
	u64 until = min(now, READ_ONCE(throttling->tick_end));

	if (since && until > since)
		throttling->total += until - since;
}

void throttling_begin_run(struct throttling *throttling)
{
	throttling->since = 0;
	throttling->total = 0;
}

/* From the event's overflow handler, NMI context included. */
void throttling_overflow(struct throttling *throttling,
			 const struct perf_event *event)
{
	u64 now = local_clock();

	account_past(throttling, now);
	if (event->hw.interrupts == 1 || throttling->tick_end <= now)
		WRITE_ONCE(throttling->tick_end, now + TICK_NSEC);
	if (is_throttled(event))
		throttling->since = now;
}

/* Nanoseconds; on the CPU that runs the event, or while nothing does. */
u64 throttling_total(struct throttling *throttling,
		     const struct perf_event *event)
{
	u64 now = local_clock();
	u64 since;

	if (!is_throttled(event)) {
		account_past(throttling, now);
		return throttling->total;
	}

	since = READ_ONCE(throttling->since);
	return throttling->total + (since && now > since ? now - since : 0);
}
