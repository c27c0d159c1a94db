// SPDX-License-Identifier: GPL-2.0
/*
 * Figures of the test PMU itself, read from its parameters directory:
 * /sys/module/kvm_pvperf_test_pmu/parameters/.
 */
#include <linux/moduleparam.h>

#include "test-pmu.h"

DEFINE_PER_CPU(u64[STATISTICS], statistics);

static u64 sum_of(enum statistic which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(statistics[which], cpu);
	return sum;
}

static u64 port_writes_in(enum guest_mode mode)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(guest_activity.port_writes[mode], cpu);
	return sum;
}

static u64 events_existing(void)
{
	return sum_of(STATISTIC_EVENT_INITS) -
	       sum_of(STATISTIC_EVENT_DESTROYS);
}

static u64 events_active(void)
{
	return sum_of(STATISTIC_ADDS) - sum_of(STATISTIC_DELS);
}

static u64 overflows_told(void)
{
	return sum_of(STATISTIC_OVERFLOWS_AT_ONCE) +
	       sum_of(STATISTIC_OVERFLOWS_LATE_NMI) +
	       sum_of(STATISTIC_OVERFLOWS_LATE_TIMER);
}

#define STATISTIC_PARAMETER(name, expression)				\
static int get_##name(char *buffer, const struct kernel_param *parameter) \
{									\
	return sysfs_emit(buffer, "%llu\n", (u64)(expression));		\
}									\
static const struct kernel_param_ops name##_ops = {			\
	.get = get_##name,						\
};									\
module_param_cb(name, &name##_ops, NULL, 0444)

STATISTIC_PARAMETER(event_inits, sum_of(STATISTIC_EVENT_INITS));
MODULE_PARM_DESC(event_inits, "events created (read only)");
STATISTIC_PARAMETER(event_destroys, sum_of(STATISTIC_EVENT_DESTROYS));
MODULE_PARM_DESC(event_destroys, "events destroyed (read only)");
STATISTIC_PARAMETER(events_existing, events_existing());
MODULE_PARM_DESC(events_existing, "events that exist now (read only)");
STATISTIC_PARAMETER(events_active, events_active());
MODULE_PARM_DESC(events_active, "counters in use now, all CPUs (read only)");
STATISTIC_PARAMETER(adds, sum_of(STATISTIC_ADDS));
MODULE_PARM_DESC(adds, "events that got a counter (read only)");
STATISTIC_PARAMETER(add_failures, sum_of(STATISTIC_ADD_FAILURES));
MODULE_PARM_DESC(add_failures, "events that found no counter (read only)");
STATISTIC_PARAMETER(dels, sum_of(STATISTIC_DELS));
MODULE_PARM_DESC(dels, "events that gave a counter back (read only)");
STATISTIC_PARAMETER(starts, sum_of(STATISTIC_STARTS));
MODULE_PARM_DESC(starts, "counters started (read only)");
STATISTIC_PARAMETER(stops, sum_of(STATISTIC_STOPS));
MODULE_PARM_DESC(stops, "counters stopped (read only)");
STATISTIC_PARAMETER(reads, sum_of(STATISTIC_READS));
MODULE_PARM_DESC(reads, "running counters read (read only)");
STATISTIC_PARAMETER(overflows, overflows_told());
MODULE_PARM_DESC(overflows, "overflows that perf was told of (read only)");
STATISTIC_PARAMETER(overflows_late_nmi, sum_of(STATISTIC_OVERFLOWS_LATE_NMI));
MODULE_PARM_DESC(overflows_late_nmi, "of these, late by NMI (read only)");
STATISTIC_PARAMETER(overflows_late_timer,
		    sum_of(STATISTIC_OVERFLOWS_LATE_TIMER));
MODULE_PARM_DESC(overflows_late_timer, "of these, late by timer (read only)");
STATISTIC_PARAMETER(overflows_dropped, sum_of(STATISTIC_OVERFLOWS_DROPPED));
MODULE_PARM_DESC(overflows_dropped,
		 "overflows that a stop came before (read only)");
STATISTIC_PARAMETER(throttles, sum_of(STATISTIC_THROTTLES));
MODULE_PARM_DESC(throttles, "overflows that made perf stop the event (read only)");
STATISTIC_PARAMETER(port_writes_user, port_writes_in(GUEST_USER));
MODULE_PARM_DESC(port_writes_user, "port writes at CPL 1 to 3 (read only)");
STATISTIC_PARAMETER(port_writes_kernel, port_writes_in(GUEST_KERNEL));
MODULE_PARM_DESC(port_writes_kernel, "port writes at CPL 0 (read only)");
STATISTIC_PARAMETER(port_writes_missed, guest_activity_missed_port_writes());
MODULE_PARM_DESC(port_writes_missed, "port accesses not seen (read only)");
STATISTIC_PARAMETER(guest_intervals, sum_of(STATISTIC_GUEST_INTERVALS));
MODULE_PARM_DESC(guest_intervals, "stays in guest mode (read only)");
STATISTIC_PARAMETER(guest_intervals_missed, guest_activity_missed_intervals());
MODULE_PARM_DESC(guest_intervals_missed,
		 "stays in guest mode not seen (read only)");
