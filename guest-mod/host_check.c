// SPDX-License-Identifier: GPL-2.0
/*
 * After a migration no PMI comes, since the new host knows of no event, and where
 * one task runs alone nothing else asks the host.
 */
#include "log.h"
#include "host_check.h"

#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/preempt.h>

#define CHECK_INTERVAL_NS	NSEC_PER_SEC

static DEFINE_PER_CPU(struct hrtimer, timers);
static bool (*check_host)(void);

/* Hard interrupt, interrupts off. */
static enum hrtimer_restart check(struct hrtimer *timer)
{
	/* The timers of a CPU that has gone fire on another one. */
	if (timer != this_cpu_ptr(&timers) || !check_host())
		return HRTIMER_NORESTART;

	hrtimer_forward_now(timer, ns_to_ktime(CHECK_INTERVAL_NS));
	return HRTIMER_RESTART;
}

/**
 * host_check_start() - look after this CPU's host from now on
 *
 * Interrupts are off; locks of the perf core and the scheduler may be held.  Where an
 * NMI starts an event, it was started before, so the timer runs.
 */
void host_check_start(void)
{
	struct hrtimer *timer = this_cpu_ptr(&timers);

	if (!in_nmi() && !hrtimer_active(timer))
		hrtimer_start(timer, ns_to_ktime(CHECK_INTERVAL_NS),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

/* May sleep. */
void host_check_cancel(unsigned int cpu)
{
	hrtimer_cancel(per_cpu_ptr(&timers, cpu));
}

/**
 * host_check_init() - once, before any start
 * @check_function: called once a second on each CPU where it was started, in a hard
 *	interrupt; false if there is nothing to look after any more
 */
void host_check_init(bool (*check_function)(void))
{
	unsigned int cpu;

	check_host = check_function;
	for_each_possible_cpu(cpu) {
		hrtimer_init(per_cpu_ptr(&timers, cpu), CLOCK_MONOTONIC,
			     HRTIMER_MODE_REL_PINNED_HARD);
		per_cpu_ptr(&timers, cpu)->function = check;
	}
}

/* Once no event can be started any more. */
void host_check_exit(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		host_check_cancel(cpu);
}
