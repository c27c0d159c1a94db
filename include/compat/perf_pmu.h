/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_PERF_PMU_H
#define _COMPAT_PERF_PMU_H

#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
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
 * Before 6.2 a task that once had an event keeps its context, and in it a
 * pointer to the PMU, for life: the scheduler follows it to find the PMU's CPU
 * contexts, which the perf core never frees, even long after the PMU was
 * unregistered.  So there the structure is left behind, with nothing in it that
 * points into the module, and a PMU that comes later takes such contexts over.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
static inline void compat_perf_move_task_contexts(struct pmu *from,
						  struct pmu *to)
{
	struct task_struct *process, *thread;
	struct perf_event_context *context;

	/* RCU keeps the threads, and the contexts of those that exit. */
	rcu_read_lock();
	for_each_process_thread(process, thread) {
		context = READ_ONCE(thread->perf_event_ctxp[perf_hw_context]);
		if (context && context->pmu == from)
			WRITE_ONCE(context->pmu, to);
	}
	rcu_read_unlock();
}

/* Whose the CPU contexts are: the first of the PMUs that share them. */
static inline struct pmu *compat_perf_owner_of_contexts(struct pmu *pmu)
{
	return per_cpu_ptr(pmu->pmu_cpu_context,
			   cpumask_first(cpu_possible_mask))->ctx.pmu;
}

/* For a PMU that has been unregistered. */
static inline void compat_perf_pmu_retire(struct pmu *pmu)
{
	struct pmu *owner = compat_perf_owner_of_contexts(pmu);
	const struct pmu retired = {
		.task_ctx_nr = pmu->task_ctx_nr,
		.pmu_cpu_context = pmu->pmu_cpu_context,
	};

	if (owner != pmu)
		compat_perf_move_task_contexts(pmu, owner);
	*pmu = retired;
}

static inline struct pmu *compat_perf_find_retired_pmu(void)
{
	struct task_struct *process, *thread;
	struct perf_event_context *context;
	struct pmu *retired = NULL;

	rcu_read_lock();
	for_each_process_thread(process, thread) {
		context = READ_ONCE(thread->perf_event_ctxp[perf_hw_context]);
		if (context && !context->pmu->event_init)
			retired = context->pmu;
	}
	rcu_read_unlock();
	return retired;
}

/* For a PMU that has been registered, before it accepts events. */
static inline void compat_perf_pmu_adopt_contexts(struct pmu *pmu)
{
	struct pmu *retired;
	int cpu;

	while ((retired = compat_perf_find_retired_pmu())) {
		/*
		 * First where the scheduler finds it and copies it from into
		 * the context of the task that it switches to.
		 */
		for_each_possible_cpu(cpu)
			WRITE_ONCE(per_cpu_ptr(retired->pmu_cpu_context,
					       cpu)->ctx.pmu, pmu);
		/* The copying goes on with interrupts off, as RCU can see. */
		synchronize_rcu();
		compat_perf_move_task_contexts(retired, pmu);
	}
}
#else
static inline void compat_perf_pmu_retire(struct pmu *pmu)
{
	kfree(pmu);
}

static inline void compat_perf_pmu_adopt_contexts(struct pmu *pmu)
{
}
#endif

/* 7.0, "perf: Clean up perf ctx time" */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define COMPAT_PERF_CLOCK_TIME time.time
#else
#define COMPAT_PERF_CLOCK_TIME time
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
		return info->COMPAT_PERF_CLOCK_TIME;
	}
#endif
	return event->ctx->COMPAT_PERF_CLOCK_TIME;
}

#endif
