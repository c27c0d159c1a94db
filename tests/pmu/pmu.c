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
 * The module cannot be unloaded: on kernel 6.1 and before, a task that once had
 * an event keeps a perf context with a pointer to the PMU for all its life.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/module.h>
#include <linux/perf_event.h>

#include "test-pmu.h"

static unsigned int counters = 8;

static int set_counters(const char *text, const struct kernel_param *parameter)
{
	return param_set_uint_minmax(text, parameter, 1, TEST_PMU_MAX_COUNTERS);
}

static const struct kernel_param_ops counters_ops = {
	.set = set_counters,
	.get = param_get_uint,
};

module_param_cb(counters, &counters_ops, &counters, 0644);
MODULE_PARM_DESC(counters, "counters of each CPU, 1 to 64 (default 8)");

struct counter_set {
	DECLARE_BITMAP(used, TEST_PMU_MAX_COUNTERS);
	struct perf_event *events[TEST_PMU_MAX_COUNTERS];
};

static DEFINE_PER_CPU(struct counter_set, counter_sets);

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
	return members + 1 <= READ_ONCE(counters);
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
	if (has_branch_stack(event) || event->attr.precise_ip ||
	    is_sampling_event(event))
		return -EOPNOTSUPP;
	if (!group_fits(event))
		return -EINVAL;

	event->hw.idx = -1;
	event->destroy = test_pmu_destroy;
	statistic_count(STATISTIC_EVENT_INITS);
	return 0;
}

static void update_count(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 before, now;

	do {
		before = local64_read(&hwc->prev_count);
		now = event_value(event);
	} while (local64_cmpxchg(&hwc->prev_count, before, now) != before);

	local64_add(now - before, &event->count);
}

static void test_pmu_start(struct perf_event *event, int flags)
{
	struct hw_perf_event *hwc = &event->hw;

	if (!(hwc->state & PERF_HES_STOPPED))
		return;

	local64_set(&hwc->prev_count, event_value(event));
	hwc->state = 0;
	statistic_count(STATISTIC_STARTS);
}

/*
 * What is counted keeps growing after a stop, so a stop takes the count even
 * when its caller leaves that for later.
 */
static void test_pmu_stop(struct perf_event *event, int flags)
{
	struct hw_perf_event *hwc = &event->hw;

	if (hwc->state & PERF_HES_STOPPED)
		return;

	update_count(event);
	hwc->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	statistic_count(STATISTIC_STOPS);
}

static int test_pmu_add(struct perf_event *event, int flags)
{
	struct counter_set *set = this_cpu_ptr(&counter_sets);
	struct hw_perf_event *hwc = &event->hw;

	if (bitmap_weight(set->used, TEST_PMU_MAX_COUNTERS) >=
	    READ_ONCE(counters)) {
		statistic_count(STATISTIC_ADD_FAILURES);
		return -EAGAIN;
	}

	hwc->idx = find_first_zero_bit(set->used, TEST_PMU_MAX_COUNTERS);
	hwc->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	set->events[hwc->idx] = event;
	__set_bit(hwc->idx, set->used);
	statistic_count(STATISTIC_ADDS);

	if (flags & PERF_EF_START)
		test_pmu_start(event, PERF_EF_RELOAD);
	perf_event_update_userpage(event);
	return 0;
}

static void test_pmu_del(struct perf_event *event, int flags)
{
	struct counter_set *set = this_cpu_ptr(&counter_sets);
	struct hw_perf_event *hwc = &event->hw;

	test_pmu_stop(event, PERF_EF_UPDATE);
	__clear_bit(hwc->idx, set->used);
	set->events[hwc->idx] = NULL;
	hwc->idx = -1;
	statistic_count(STATISTIC_DELS);
	perf_event_update_userpage(event);
}

static void test_pmu_read(struct perf_event *event)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	update_count(event);
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
	.capabilities	= PERF_PMU_CAP_NO_INTERRUPT,
	.task_ctx_nr	= perf_hw_context,
	.attr_groups	= attribute_groups,
	.event_init	= test_pmu_event_init,
	.add		= test_pmu_add,
	.del		= test_pmu_del,
	.start		= test_pmu_start,
	.stop		= test_pmu_stop,
	.read		= test_pmu_read,
};

static int __init test_pmu_load(void)
{
	int err;

	err = event_clock_init();
	if (err) {
		pr_err("the time stamp counter has no known frequency\n");
		return err;
	}

	err = guest_activity_watch();
	if (err)
		return err;

	err = perf_pmu_register(&test_pmu, "kvm_pvperf_test", PERF_TYPE_RAW);
	if (err) {
		guest_activity_unwatch();
		return err;
	}
	return 0;
}
module_init(test_pmu_load);

MODULE_DESCRIPTION("Test PMU that counts what KVM guests do");
MODULE_LICENSE("GPL");
