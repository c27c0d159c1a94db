/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parts of the test PMU; pmu.c states what it counts.
 */
#ifndef KVM_PVPERF_TEST_PMU_H
#define KVM_PVPERF_TEST_PMU_H

#include <linux/bitmap.h>
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
	SOURCES,
};

static inline enum event_source event_source(const struct perf_event *event)
{
	return event->hw.config_base;
}

int event_clock_init(void);
int event_resolve(struct perf_event *event);
/* Does it count what is not guest mode? */
bool event_counts_host(const struct perf_event *event);
/* What it has counted since load on this CPU.  Interrupts are off. */
u64 event_value(const struct perf_event *event);
/* Nanoseconds of what it counts until the next overflow of a time event. */
u64 event_time_left(const struct perf_event *event);

/**
 * struct counter_set - the counters of one CPU
 * @used: counters that have an event.
 * @sampling: those of them with a sampling event, by what it counts.
 * @events: their events, running or stopped.
 */
struct counter_set {
	DECLARE_BITMAP(used, TEST_PMU_MAX_COUNTERS);
	DECLARE_BITMAP(sampling[SOURCES], TEST_PMU_MAX_COUNTERS);
	struct perf_event *events[TEST_PMU_MAX_COUNTERS];
};

DECLARE_PER_CPU(struct counter_set, counter_sets);

unsigned int counters_per_cpu(void);
/* The event gets a counter, stopped; false if there is none. */
bool counter_take(struct perf_event *event);
void counter_give_back(struct perf_event *event);
void counter_start(struct perf_event *event);
void counter_stop(struct perf_event *event);
/* Brings event->count and period_left up to date. */
void counter_update(struct perf_event *event);
/* If nothing is left of the period, begins another one and returns true. */
bool counter_next_period(struct perf_event *event);

int overflow_init(void);
void overflow_exit(void);
/* Is it long enough?  0 or -EINVAL. */
int overflow_check_period(struct perf_event *event, u64 period);
/* These are called with interrupts off, too. */
/* Before a start: what the event has not been told of is dropped. */
void overflow_forget(struct perf_event *event);
/* After a start: an event that counts time needs a timer. */
void overflow_start_timer(struct perf_event *event);
void overflow_guest_mode_begins(void);
void overflow_guest_mode_ended(struct pt_regs *regs);
void overflow_port_written(struct pt_regs *regs);

enum statistic {
	STATISTIC_EVENT_INITS,
	STATISTIC_EVENT_DESTROYS,
	STATISTIC_ADDS,
	STATISTIC_ADD_FAILURES,
	STATISTIC_DELS,
	STATISTIC_STARTS,
	STATISTIC_STOPS,
	STATISTIC_READS,
	STATISTIC_OVERFLOWS_AT_ONCE,
	STATISTIC_OVERFLOWS_LATE_NMI,
	STATISTIC_OVERFLOWS_LATE_TIMER,
	STATISTIC_OVERFLOWS_DROPPED,
	STATISTIC_THROTTLES,
	STATISTIC_GUEST_INTERVALS,
	STATISTICS,
};

DECLARE_PER_CPU(u64[STATISTICS], statistics);

static inline void statistic_count(enum statistic which)
{
	this_cpu_inc(statistics[which]);
}

#endif
