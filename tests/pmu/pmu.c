// SPDX-License-Identifier: GPL-2.0
/*
 * A test PMU for host VMs that have none.
 *
 * It registers as PERF_TYPE_RAW, so that HARDWARE, HW_CACHE and RAW events
 * arrive here.  Each CPU has as many counters as the parameter "counters"
 * says.  What the events count, in truth:
 *
 *   cycles (HARDWARE 0)            nanoseconds
 *   instructions (HARDWARE 1)      cycles * 2
 *   cache-references (HARDWARE 2)  cycles / 8
 *   cache-misses (HARDWARE 3)      cycles / 64
 *   branches (HARDWARE 4)          cycles / 4
 *   branch-misses (HARDWARE 5)     cycles / 128
 *   ref-cycles (HARDWARE 9)        cycles
 *   L1D read accesses              cycles / 2
 *   L1D read misses                cycles / 32
 *   RAW 0x100 + k, k = 1 to 63     cycles * k
 *   EXACT: bus-cycles (HARDWARE 6) one per OUT to port 0x5e0 by a guest, of any
 *   and RAW 0xe0                   size, and one per element of an OUTS to it
 *
 * The module ends such an OUT itself, so the VMM never sees it.
 *
 * Every other event is refused with ENOENT.
 *
 * Nanoseconds are those of the time stamp counter, which under instruction
 * counting emulation follows the virtual clock.  Guest mode is from the entry
 * of svm_vcpu_run to its return.
 *
 * Filters:
 *   exclude_host    only guest mode counts (EXACT never counts anything else)
 *   exclude_guest   only host mode counts (EXACT counts nothing)
 *   exclude_kernel, exclude_user
 *                   by the CPL of the guest, where 1 to 3 is user mode.  For
 *                   EXACT that is the CPL of the OUT itself.  For time, a stay
 *                   in guest mode belongs wholly to the CPL in which it ends.
 *                   Host mode counts as kernel mode.
 *   exclude_hv, exclude_idle
 *                   accepted without effect, as x86 does
 *
 * Without exclude_host the time events count all time in which they are active.
 *
 * Sampling, by period or frequency, follows the rules of x86's hardware PMUs:
 *
 *   hw.period_left  decides when the next overflow comes.  What is counted is
 *                   taken off it.  Once it is 0 or less, sample_period is added,
 *                   or, if it is as low as -sample_period, it becomes
 *                   sample_period; then perf is told, once, with last_period
 *                   set.  If perf says so, the event is stopped (throttling).
 *   a stop          drops what perf has not been told of.  The count is right,
 *                   and the next start does to period_left what is said above.
 *   EXACT           overflows at the OUT: perf is told before the guest executes
 *                   its next instruction.
 *   time            overflows are seen when a stay in guest mode ends.  A timer
 *                   ends it when the first one is due, but waits at least 100
 *                   microseconds.  The same timer sees those of host time.
 *
 * Parameter "late" makes perf be told of them later, which leaves counts alone.
 * What is counted meanwhile may hold further overflows: perf is told once.
 *
 *   0  at once (default)
 *   1  by an NMI that the CPU sends itself, in host mode
 *   2  by a timer, "late_ns" (default 20000) nanoseconds later, whatever the
 *      CPU does then.  An event that no longer runs there has dropped it.
 *   3  one of these, pseudo-randomly, for each overflow
 *
 * Parameter "least_period" is the shortest period that is taken (default: any), as
 * some CPUs have one: setting a shorter one is refused with EINVAL.
 *
 * Samples with branch stacks and precise ones are refused with EOPNOTSUPP.
 *
 * The module cannot be unloaded: on kernel 6.1 and before, a task that once had
 * an event keeps a perf context with a pointer to the PMU for all its life.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/perf_event.h>

#include "test-pmu.h"

static struct pmu test_pmu;

/* A group that can never be on the counters together is refused, as by x86. */
static bool group_fits(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;
	struct perf_event *sibling;
	unsigned int members = 0;

	if (leader != event) {
		members += leader->pmu == &test_pmu;
		for_each_sibling_event(sibling, leader)
			members += sibling->pmu == &test_pmu;
	}
	return members + 1 <= counters_per_cpu();
}

static void test_pmu_destroy(struct perf_event *event)
{
	statistic_count(STATISTIC_EVENT_DESTROYS);
}

static int test_pmu_event_init(struct perf_event *event)
{
	int err;

	err = event_resolve(event);
	if (err)
		return err;
	if (has_branch_stack(event) || event->attr.precise_ip)
		return -EOPNOTSUPP;
	if (!group_fits(event))
		return -EINVAL;

	event->hw.idx = -1;
	event->destroy = test_pmu_destroy;
	statistic_count(STATISTIC_EVENT_INITS);
	return 0;
}

static void test_pmu_start(struct perf_event *event, int flags)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		return;
	overflow_forget(event);
	counter_start(event);
	overflow_start_timer(event);
}

static void test_pmu_stop(struct perf_event *event, int flags)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		counter_stop(event);
}

static int test_pmu_add(struct perf_event *event, int flags)
{
	if (!counter_take(event))
		return -EAGAIN;
	if (flags & PERF_EF_START)
		test_pmu_start(event, PERF_EF_RELOAD);
	perf_event_update_userpage(event);
	return 0;
}

static void test_pmu_del(struct perf_event *event, int flags)
{
	test_pmu_stop(event, PERF_EF_UPDATE);
	counter_give_back(event);
	perf_event_update_userpage(event);
}

static void test_pmu_read(struct perf_event *event)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	counter_update(event);
	statistic_count(STATISTIC_READS);
}

PMU_FORMAT_ATTR(event, "config:0-63");

static struct attribute *format_attributes[] = {
	&format_attr_event.attr,
	NULL,
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attributes,
};

static const struct attribute_group *attribute_groups[] = {
	&format_group,
	NULL,
};

static struct pmu test_pmu = {
	.module		= THIS_MODULE,
	.task_ctx_nr	= perf_hw_context,
	.attr_groups	= attribute_groups,
	.event_init	= test_pmu_event_init,
	.add		= test_pmu_add,
	.del		= test_pmu_del,
	.start		= test_pmu_start,
	.stop		= test_pmu_stop,
	.read		= test_pmu_read,
	.check_period	= overflow_check_period,
};

static int __init test_pmu_load(void)
{
	int err;

	err = event_clock_init();
	if (err) {
		pr_err("the time stamp counter has no known frequency\n");
		return err;
	}

	err = overflow_init();
	if (err)
		return err;

	err = guest_activity_watch();
	if (err)
		goto exit_overflow;

	err = perf_pmu_register(&test_pmu, "kvm_pvperf_test", PERF_TYPE_RAW);
	if (!err)
		return 0;

	guest_activity_unwatch();
exit_overflow:
	overflow_exit();
	return err;
}
module_init(test_pmu_load);

MODULE_DESCRIPTION("Test PMU that counts what KVM guests do");
MODULE_LICENSE("GPL");
