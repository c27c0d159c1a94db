// SPDX-License-Identifier: GPL-2.0
/*
 * After a migration no PMI comes, since the new host knows of no event, and where
 * one task runs alone nothing else asks the host.
 */
#include "log.h"
#include "host_check.h"

#include <compat/hrtimer.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/preempt.h>

#define CHECK_INTERVAL_NS	NSEC_PER_SEC

static DEFINE_PER_CPU(struct hrtimer, timers);
static void (*check_host)(void);

/* Hard interrupt, interrupts off. */
static enum hrtimer_restart check(struct hrtimer *timer)
{
	/* The timers of a CPU that has gone fire on another one. */
	if (timer == this_cpu_ptr(&timers))
		check_host();
	return HRTIMER_NORESTART;
}

static void start(struct hrtimer *timer, u64 nanoseconds)
{
	hrtimer_start(timer, ns_to_ktime(nanoseconds),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * host_check_start() - look after this CPU's host in a second, if not before
 *
 * Interrupts are off; locks of the perf core and the scheduler may be held.  Where an
 * NMI starts an event, it was started before, so the timer runs.
 */
void host_check_start(void)
{
	struct hrtimer *timer = this_cpu_ptr(&timers);

	if (!in_nmi() && !hrtimer_is_queued(timer))
		start(timer, CHECK_INTERVAL_NS);
}

/**
 * host_check_start_within() - the same, but earlier
 * @nanoseconds: at the latest
 */
void host_check_start_within(u64 nanoseconds)
{
	struct hrtimer *timer = this_cpu_ptr(&timers);

	if (in_nmi())
		return;
	if (!hrtimer_is_queued(timer) ||
	    ktime_to_ns(hrtimer_get_remaining(timer)) > (s64)nanoseconds)
		start(timer, nanoseconds);
}

/* May sleep. */
void host_check_cancel(unsigned int cpu)
{
	hrtimer_cancel(per_cpu_ptr(&timers, cpu));
}

/**
 * host_check_init() - once, before any start
 * @check_function: called in a hard interrupt of the CPU on which the check was
 *	started, once for each start
 */
void host_check_init(void (*check_function)(void))
{
	unsigned int cpu;

	check_host = check_function;
	for_each_possible_cpu(cpu) {
		compat_hrtimer_setup(per_cpu_ptr(&timers, cpu), check,
				     CLOCK_MONOTONIC,
				     HRTIMER_MODE_REL_PINNED_HARD);
	}
}

/* Once no event can be started any more. */
void host_check_exit(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		host_check_cancel(cpu);
}
