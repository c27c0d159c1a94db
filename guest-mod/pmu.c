// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "pmu.h"

#include "accounting.h"
#include "slots.h"

#include <compat/perf_pmu.h>
#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

/**
 * struct cpu_events - the events that are on this CPU
 * @slots: by event id
 * @started: set of the slots that the host counts
 * @pending: set of the slots that are to be started
 * @is_disabled: between pmu_disable and pmu_enable
 * @transaction: PERF_PMU_TXN_* between start_txn and its end
 * @to_read: set of the slots that this transaction reads
 *
 * Used by its own CPU, with interrupts off.
 */
struct cpu_events {
	struct accounted_event slots[KVM_PVPERF_SLOTS];
	u32 started;
	u32 pending;
	bool is_disabled;
	unsigned int transaction;
	u32 to_read;
};

static DEFINE_PER_CPU(struct cpu_events, cpu_events);

/* Allocated: see compat_perf_pmu_retire(). */
static struct pmu *registered_pmu;
static bool accepts_events;

static void account_set(struct cpu_events *this, unsigned long set)
{
	struct kvm_pvperf_report report;
	unsigned int id;

	for_each_set_bit(id, &set, KVM_PVPERF_SLOTS) {
		slots_copy_report(id, &report);
		accounting_report(this->slots, id, &report);
	}
}

static void lose_set(struct cpu_events *this, unsigned long set)
{
	unsigned int id;

	for_each_set_bit(id, &set, KVM_PVPERF_SLOTS)
		accounting_lose(&this->slots[id]);
}

/*
 * The host has forgotten us, or does not answer.  That concerns the events of
 * all contexts on this CPU, also those that the perf core does not work on now.
 */
static void lose_started(struct cpu_events *this)
{
	lose_set(this, this->started);
	this->pending |= this->started;
	this->started = 0;
}

static int try_to_start_pending(struct cpu_events *this)
{
	unsigned long set = this->pending & slots_usable();
	unsigned int id;
	int error;

	if (!set)
		return 0;

	error = slots_operate(KVM_PVPERF_OP_START, set);
	if (error) {
		lose_started(this);
		return error;
	}

	this->pending &= ~set;
	this->started |= set;
	for_each_set_bit(id, &set, KVM_PVPERF_SLOTS)
		accounting_new_run(&this->slots[id]);
	return 0;
}

/*
 * What is pending after that does not count: without a host, or on one that
 * accepts fewer slots than the last.  It is tried again at the next occasion.
 */
static void start_pending(struct cpu_events *this)
{
	if (try_to_start_pending(this) == -ESTALE)
		try_to_start_pending(this);
	lose_set(this, this->pending);
}

static void stop_set(struct cpu_events *this, u32 set)
{
	if (slots_operate(KVM_PVPERF_OP_STOP, set)) {
		lose_started(this);
		return;
	}
	account_set(this, set);
	this->started &= ~set;
}

static void read_set(struct cpu_events *this, unsigned long wanted)
{
	unsigned long uncounted;
	unsigned int id;
	u32 set = wanted & this->started;

	if (set && slots_operate(KVM_PVPERF_OP_READ, set))
		lose_started(this);
	else
		account_set(this, set);

	if (this->is_disabled)
		return;

	uncounted = wanted & this->pending;
	for_each_set_bit(id, &uncounted, KVM_PVPERF_SLOTS)
		accounting_no_report(this->slots, id);

	/* There was no host: try whether it is back. */
	if (this->pending)
		start_pending(this);
}

/* Slots that the perf core is about to take off together with @event's. */
static u32 started_of_context(struct cpu_events *this,
			      struct perf_event *event)
{
	unsigned long started = this->started;
	u32 set = 0;
	unsigned int id;

	for_each_set_bit(id, &started, KVM_PVPERF_SLOTS)
		if (this->slots[id].event->ctx == event->ctx)
			set |= BIT(id);
	return set;
}

static void pmu_disable(struct pmu *pmu)
{
	this_cpu_write(cpu_events.is_disabled, true);
}

static void pmu_enable(struct pmu *pmu)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);

	this->is_disabled = false;
	if (this->pending)
		start_pending(this);
}

static void pmu_start(struct perf_event *event, int flags)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);

	event->hw.state = 0;
	this->pending |= BIT(event->hw.idx);
	if (!this->is_disabled)
		start_pending(this);
}

static void pmu_stop(struct perf_event *event, int flags)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);
	u32 bit;

	if (event->hw.state & PERF_HES_STOPPED)
		return;

	bit = BIT(event->hw.idx);
	if (this->started & bit)
		stop_set(this, bit);
	this->pending &= ~bit;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;

	/* The host may just have forgotten all the others. */
	if (this->pending && !this->is_disabled)
		start_pending(this);
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
	return description;
}

/*
 * The host keeps a stopped slot's event, so the best slot is one that counted
 * the same before.
 */
static int find_free_slot(struct cpu_events *this,
			  const struct event_description *description)
{
	unsigned long usable = slots_usable();
	unsigned int id;
	int found = -EAGAIN;

	for_each_set_bit(id, &usable, KVM_PVPERF_SLOTS) {
		if (this->slots[id].event)
			continue;
		if (slots_describes(id, description))
			return id;
		if (found < 0)
			found = id;
	}
	return found;
}

static int pmu_add(struct perf_event *event, int flags)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);
	struct event_description description = describe(event);
	int id = find_free_slot(this, &description);

	if (id < 0)
		return id;

	slots_describe(id, &description);
	accounting_begin(&this->slots[id], event);
	event->hw.idx = id;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		pmu_start(event, PERF_EF_RELOAD);

	perf_event_update_userpage(event);
	return 0;
}

static void pmu_del(struct perf_event *event, int flags)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);
	u32 bit = BIT(event->hw.idx);
	u32 set;

	/*
	 * The first of a context to leave stops them all, with one exit; those
	 * that stay are started by pmu_enable, with one more.
	 */
	if (this->started & bit) {
		set = started_of_context(this, event);
		stop_set(this, set);
		this->pending |= set;
	}
	if (this->slots[event->hw.idx].is_lost)
		accounting_no_report(this->slots, event->hw.idx);

	this->pending &= ~bit;
	accounting_end(this->slots, event->hw.idx);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	event->hw.idx = -1;
	perf_event_update_userpage(event);
}

static void pmu_read(struct perf_event *event)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);
	u32 bit = BIT(event->hw.idx);

	if (this->transaction & PERF_PMU_TXN_READ)
		this->to_read |= bit;
	else
		read_set(this, bit);
}

/* The perf core's own version would drop the reads of a group. */
static void pmu_start_transaction(struct pmu *pmu, unsigned int flags)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);

	this->transaction = flags;
	this->to_read = 0;
}

static int pmu_commit_transaction(struct pmu *pmu)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);
	unsigned int transaction = this->transaction;

	this->transaction = 0;
	if (transaction & PERF_PMU_TXN_READ)
		read_set(this, this->to_read);
	return 0;
}

static void pmu_cancel_transaction(struct pmu *pmu)
{
	this_cpu_write(cpu_events.transaction, 0);
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
	    event->attr.exclude_host || is_sampling_event(event))
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
	.capabilities = PERF_PMU_CAP_NO_INTERRUPT |
			COMPAT_PERF_PMU_CAP_SHARES_HW_CONTEXT,
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
