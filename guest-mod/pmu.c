// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "pmu.h"

#include "cpu_events.h"
#include "sampling.h"
#include "slots.h"

#include <compat/perf_pmu.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

/* Allocated: see compat_perf_pmu_retire(). */
static struct pmu *registered_pmu;
static bool accepts_events;

static void pmu_disable(struct pmu *pmu)
{
	cpu_events_disable();
}

static void pmu_enable(struct pmu *pmu)
{
	cpu_events_enable();
}

static void pmu_start(struct perf_event *event, int flags)
{
	cpu_events_start(event);
}

static void pmu_stop(struct perf_event *event, int flags)
{
	cpu_events_stop(event);
}

/*
 * What config1 says under the PMU's own type: the type of config.  Users know
 * these numbers by the format attribute "kind".
 */
enum event_kind {
	EVENT_KIND_RAW,
	EVENT_KIND_HARDWARE,
	EVENT_KIND_HW_CACHE,
	EVENT_KINDS
};

/* Events that perf knows by itself come with their own type. */
static u32 host_type(const struct perf_event_attr *attr)
{
	static const u32 types[EVENT_KINDS] = {
		[EVENT_KIND_RAW] = KVM_PVPERF_TYPE_RAW,
		[EVENT_KIND_HARDWARE] = KVM_PVPERF_TYPE_HARDWARE,
		[EVENT_KIND_HW_CACHE] = KVM_PVPERF_TYPE_HW_CACHE,
	};

	if (attr->type != registered_pmu->type)
		return attr->type;
	return types[array_index_nospec(attr->config1, EVENT_KINDS)];
}

static struct event_description describe(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	struct event_description description = {
		.type = host_type(attr),
		.config = attr->config,
	};

	if (attr->exclude_user)
		description.flags |= KVM_PVPERF_FLAG_EXCLUDE_USER;
	if (attr->exclude_kernel)
		description.flags |= KVM_PVPERF_FLAG_EXCLUDE_KERNEL;
	if (is_sampling_event(event))
		description.flags |= KVM_PVPERF_FLAG_SAMPLING;
	return description;
}

static int pmu_add(struct perf_event *event, int flags)
{
	struct event_description description = describe(event);
	int error = cpu_events_add(event, &description);

	if (error)
		return error;
	if (flags & PERF_EF_START)
		cpu_events_start(event);

	perf_event_update_userpage(event);
	return 0;
}

static void pmu_del(struct perf_event *event, int flags)
{
	cpu_events_del(event);
	perf_event_update_userpage(event);
}

static void pmu_read(struct perf_event *event)
{
	cpu_events_read(event);
}

/* The perf core's own version would drop the reads of a group. */
static void pmu_start_transaction(struct pmu *pmu, unsigned int flags)
{
	cpu_events_begin_transaction(flags);
}

static int pmu_commit_transaction(struct pmu *pmu)
{
	cpu_events_commit_transaction();
	return 0;
}

static void pmu_cancel_transaction(struct pmu *pmu)
{
	cpu_events_cancel_transaction();
}

static bool is_mine(const struct perf_event_attr *attr)
{
	if (attr->type == registered_pmu->type)
		return attr->config1 < EVENT_KINDS &&
		       !attr->config2;

	/* Otherwise there is another PMU for these. */
	if (registered_pmu->type != PERF_TYPE_RAW)
		return false;
	return (attr->type == PERF_TYPE_HARDWARE ||
		attr->type == PERF_TYPE_HW_CACHE) &&
	       !attr->config1 && !attr->config2;
}

/* A group that cannot ever be on the CPU as a whole is refused at once. */
static bool fits_with_group(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;
	struct perf_event *sibling;
	unsigned int count = 1;

	if (leader == event)
		return true;
	if (leader->pmu == registered_pmu)
		count++;
	for_each_sibling_event(sibling, leader)
		if (sibling->pmu == registered_pmu)
			count++;
	return count <= slots_group_limit();
}

static int pmu_event_init(struct perf_event *event)
{
	struct event_description description;

	if (!READ_ONCE(accepts_events) || !is_mine(&event->attr))
		return -ENOENT;

	if (has_branch_stack(event) || event->attr.precise_ip ||
	    event->attr.exclude_host)
		return -EOPNOTSUPP;

	event->hw.idx = -1;

	/*
	 * An inherited event was judged when its parent was opened.  Whatever
	 * host there is now, failing here would fail the user's fork().
	 */
	if (event->parent)
		return 0;

	if (!fits_with_group(event))
		return -EINVAL;

	description = describe(event);
	return slots_check(&description);
}

PMU_FORMAT_ATTR(event, "config:0-63");
PMU_FORMAT_ATTR(kind, "config1:0-1");

static struct attribute *format_attributes[] = {
	&format_attr_event.attr,
	&format_attr_kind.attr,
	NULL
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attributes,
};

#define HARDWARE_EVENT(variable, name, event)				\
	PMU_EVENT_ATTR_STRING(name, variable, "event=" event ",kind=1")

HARDWARE_EVENT(event_cycles, cycles, "0x0");
HARDWARE_EVENT(event_instructions, instructions, "0x1");
HARDWARE_EVENT(event_cache_references, cache-references, "0x2");
HARDWARE_EVENT(event_cache_misses, cache-misses, "0x3");
HARDWARE_EVENT(event_branches, branches, "0x4");
HARDWARE_EVENT(event_branch_misses, branch-misses, "0x5");
HARDWARE_EVENT(event_bus_cycles, bus-cycles, "0x6");
HARDWARE_EVENT(event_stalled_frontend, stalled-cycles-frontend, "0x7");
HARDWARE_EVENT(event_stalled_backend, stalled-cycles-backend, "0x8");
HARDWARE_EVENT(event_ref_cycles, ref-cycles, "0x9");

static struct attribute *event_attributes[] = {
	&event_cycles.attr.attr,
	&event_instructions.attr.attr,
	&event_cache_references.attr.attr,
	&event_cache_misses.attr.attr,
	&event_branches.attr.attr,
	&event_branch_misses.attr.attr,
	&event_bus_cycles.attr.attr,
	&event_stalled_frontend.attr.attr,
	&event_stalled_backend.attr.attr,
	&event_ref_cycles.attr.attr,
	NULL
};

static const struct attribute_group events_group = {
	.name = "events",
	.attrs = event_attributes,
};

static const struct attribute_group *attribute_groups[] = {
	&format_group,
	&events_group,
	NULL
};

static const struct pmu pmu_template = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_hw_context,
	.capabilities = COMPAT_PERF_PMU_CAP_SHARES_HW_CONTEXT,
	.attr_groups = attribute_groups,
	.pmu_enable = pmu_enable,
	.pmu_disable = pmu_disable,
	.event_init = pmu_event_init,
	.add = pmu_add,
	.del = pmu_del,
	.start = pmu_start,
	.stop = pmu_stop,
	.read = pmu_read,
	.start_txn = pmu_start_transaction,
	.commit_txn = pmu_commit_transaction,
	.cancel_txn = pmu_cancel_transaction,
};

/*
 * The perf core warns about a type that is taken, and has no way to ask: but
 * without a PMU of that type, a raw event cannot be created.
 */
static bool is_raw_type_taken(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.disabled = 1,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
	if (!IS_ERR(event)) {
		perf_event_release_kernel(event);
		return true;
	}
	return PTR_ERR(event) != -ENOENT;
}

/**
 * pmu_register() - let the perf core use the host
 *
 * In a guest without a PMU as the one for generic and raw events; otherwise
 * beside the one that is there, under a type of its own.
 *
 * Return: 0 or the perf core's error.
 */
int pmu_register(void)
{
	int type = PERF_TYPE_RAW;
	int error;

	if (is_raw_type_taken()) {
		pr_info("this guest has a hardware PMU: use events as kvm_pvperf/cycles/\n");
		type = -1;
	}

	registered_pmu = kmemdup(&pmu_template, sizeof(pmu_template),
				 GFP_KERNEL);
	if (!registered_pmu)
		return -ENOMEM;

	if (!sampling_is_possible() || !slots_can_sample()) {
		pr_info("this host, or this kernel, allows no sampling\n");
		registered_pmu->capabilities |= PERF_PMU_CAP_NO_INTERRUPT;
	}

	error = perf_pmu_register(registered_pmu, "kvm_pvperf", type);
	if (error) {
		pr_err("cannot register a PMU: error %d\n", error);
		kfree(registered_pmu);
		return error;
	}

	compat_perf_pmu_adopt_contexts(registered_pmu);
	WRITE_ONCE(accepts_events, true);
	return 0;
}

/* No event is open: each holds the module. */
void pmu_unregister(void)
{
	perf_pmu_unregister(registered_pmu);
	compat_perf_pmu_retire(registered_pmu);
}
