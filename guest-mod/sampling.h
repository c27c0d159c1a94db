/* SPDX-License-Identifier: GPL-2.0 */
/* From the host's overflows to perf's samples. */
#ifndef _GUEST_MOD_SAMPLING_H
#define _GUEST_MOD_SAMPLING_H

#include <linux/types.h>
#include <uapi/linux/kvm_pvperf.h>

struct perf_event;
struct pt_regs;

/**
 * struct sampled_run - what a sampling event is to do in a run on the host
 * @period: events from one overflow to the next
 * @left: events to the first overflow
 * @carried: events since the last overflow before the run
 * @overflows: as reported
 * @missed: host's nanoseconds in which it did not count, as reported
 * @is_throttled: the host has throttled it, and perf was not told yet
 * @tick: hw.interrupts_seq of the event, when last looked at
 * @tick_began: ktime_get_mono_fast_ns() when @tick was first seen
 * @starving_samples: the last ones in a row that found a tick overdue and an
 *                    interrupt waiting
 * @held_until: ktime_get_mono_fast_ns() before which it is not started, since
 *              it was throttled
 * @sampled_at: ktime_get_mono_fast_ns() at the last sample; 0 before the first
 *
 * hw.period_left of the event is kept as the perf core wants it: the events to
 * the next overflow, or 0 or less for a whole period.  hw.prev_count, which this
 * PMU has no other use for, is the number of events since the last overflow.
 */
struct sampled_run {
	u64 period;
	u64 left;
	u64 carried;
	u64 overflows;
	u64 missed;
	bool is_throttled;
	u64 tick;
	u64 tick_began;
	u32 starving_samples;
	u64 held_until;
	u64 sampled_at;
};

int sampling_init(void);
bool sampling_is_possible(void);

void sampling_plan_run(struct sampled_run *run,
		       const struct perf_event *event, u64 min_period);
u64 sampling_report(struct sampled_run *run, struct perf_event *event,
		    const struct kvm_pvperf_report *report);
bool sampling_is_period_far_off(const struct sampled_run *run,
				const struct perf_event *event);
u64 sampling_wait(const struct sampled_run *run);
bool sampling_deliver(struct sampled_run *run, struct perf_event *event,
		      u64 period, struct pt_regs *regs);

#endif
