/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_PERF_PMU_H
#define _COMPAT_PERF_PMU_H

#include <linux/perf_event.h>
#include <linux/version.h>

/*
 * Before 6.2 ("perf: Rewrite core context handling") the perf core remembers
 * for good that some PMU has used the hardware context, and warns about the
 * next one, be it the same module loaded again, unless it has this capability.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define COMPAT_PERF_PMU_CAP_SHARES_HW_CONTEXT PERF_PMU_CAP_HETEROGENEOUS_CPUS
#else
#define COMPAT_PERF_PMU_CAP_SHARES_HW_CONTEXT 0
#endif

/*
 * The clock of an event's context, as the perf core has last brought it up to
 * date.  Under ctx->lock, or with interrupts off on the CPU that runs the
 * event.
 */
static inline u64 compat_perf_event_time(struct perf_event *event)
{
#ifdef CONFIG_CGROUP_PERF
	if (event->cgrp) {
		struct perf_cgroup_info *info;

		info = per_cpu_ptr(event->cgrp->info, event->cpu);
		return info->time;
	}
#endif
	return event->ctx->time;
}

#endif
