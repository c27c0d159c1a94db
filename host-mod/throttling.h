/* SPDX-License-Identifier: GPL-2.0 */
/* How long the host's perf core kept an event stopped for overflowing too often. */
#ifndef _HOST_MOD_THROTTLING_H
#define _HOST_MOD_THROTTLING_H

#include <linux/types.h>

struct perf_event;

/**
 * struct throttling - of one event, since throttling_begin_run()
 * @tick_end: when the tick ends in which it last overflowed, by local_clock()
 * @since: when it was throttled, by local_clock(); 0 if it was not, or if that
 *	is in @total already
 * @total: nanoseconds
 */
struct throttling {
	u64 tick_end;
	u64 since;
	u64 total;
};

void throttling_begin_run(struct throttling *throttling);
void throttling_overflow(struct throttling *throttling,
			 const struct perf_event *event);
u64 throttling_total(struct throttling *throttling,
		     const struct perf_event *event);

#endif
