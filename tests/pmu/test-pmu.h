/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parts of the test PMU; pmu.c states what it counts.
 */
#ifndef KVM_PVPERF_TEST_PMU_H
#define KVM_PVPERF_TEST_PMU_H

#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#define TEST_PMU_MAX_COUNTERS	64
#define TEST_PMU_EXACT_PORT	0x5e0

/* What the guest was doing, by its CPL: 0 is kernel mode, 1 to 3 user mode. */
enum guest_mode {
	GUEST_KERNEL,
	GUEST_USER,
	GUEST_MODES,
};

/**
 * struct guest_activity - what guests have done on one CPU since load
 * @mode_cycles: TSC cycles spent in guest mode.
 * @port_writes: writes to TEST_PMU_EXACT_PORT.
 *
 * Values only grow, so whoever counts takes differences of them.
 */
struct guest_activity {
	u64 mode_cycles[GUEST_MODES];
	u64 port_writes[GUEST_MODES];
};

DECLARE_PER_CPU(struct guest_activity, guest_activity);

int guest_activity_watch(void);
void guest_activity_unwatch(void);
unsigned long guest_activity_missed_intervals(void);
unsigned long guest_activity_missed_port_writes(void);

/* What an event counts; kept in hw_perf_event.config_base. */
enum event_source {
	SOURCE_TIME,
	SOURCE_PORT_WRITES,
};

int event_clock_init(void);
int event_resolve(struct perf_event *event);
u64 event_value(const struct perf_event *event);

enum statistic {
	STATISTIC_EVENT_INITS,
	STATISTIC_EVENT_DESTROYS,
	STATISTIC_ADDS,
	STATISTIC_ADD_FAILURES,
	STATISTIC_DELS,
	STATISTIC_STARTS,
	STATISTIC_STOPS,
	STATISTIC_READS,
	STATISTIC_GUEST_INTERVALS,
	STATISTICS,
};

DECLARE_PER_CPU(u64[STATISTICS], statistics);

static inline void statistic_count(enum statistic which)
{
	this_cpu_inc(statistics[which]);
}

#endif
