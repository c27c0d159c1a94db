// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "event_table.h"

#include <linux/err.h>
#include <linux/nospec.h>
#include <linux/perf_event.h>
#include <linux/sched.h>

/*
 * Never on a counter.  One keeps the perf core's per-task scheduling hooks
 * switched on, the other keeps the hardware PMU reserved: without them the first
 * event of the first guest would have code patched, or buffers allocated for
 * all CPUs, inside a hypercall, and a guest could make that happen time and
 * again.
 */
static struct perf_event *keeps_task_events_enabled;
static struct perf_event *keeps_pmu_reserved;

static struct perf_event *create(const struct event_description *description)
{
	struct perf_event_attr attr = {
		.type = description->type,
		.size = sizeof(attr),
		.config = description->config,
		.disabled = 1,
		.exclude_host = 1,
		.exclude_user =
			!!(description->flags & KVM_PVPERF_FLAG_EXCLUDE_USER),
		.exclude_kernel =
			!!(description->flags & KVM_PVPERF_FLAG_EXCLUDE_KERNEL),
	};

	return perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
}

/* In the order that docs/abi.md gives: what is wrong with it comes first. */
static int judge(struct kvm *kvm, const struct event_description *description)
{
	if (description->flags & ~KVM_PVPERF_FLAGS_ALL)
		return -EINVAL;
	if (description->flags & KVM_PVPERF_FLAG_SAMPLING)
		return -EOPNOTSUPP;

	return event_policy_check(kvm, description);
}

static u32 state_of_error(int error)
{
	switch (error) {
	case -EINVAL:
		return KVM_PVPERF_STATE_INVALID;
	case -EACCES:
		return KVM_PVPERF_STATE_DENIED;
	case -ENOMEM:
		return KVM_PVPERF_STATE_LIMIT;
	default:
		return KVM_PVPERF_STATE_UNSUPPORTED;
	}
}

/* The host perf core's reasons, in the terms of the ABI. */
static int error_of_create(int error)
{
	switch (error) {
	case -ENOMEM:
	case -EBUSY:
	case -EAGAIN:
		return -ENOMEM;
	default:
		return -ENOENT;
	}
}

static int try_create(struct kvm *kvm,
		      const struct event_description *description,
		      struct perf_event **event)
{
	int error = judge(kvm, description);

	if (error)
		return error;

	*event = create(description);
	return IS_ERR(*event) ? error_of_create(PTR_ERR(*event)) : 0;
}

/**
 * event_table_check() - could the calling vCPU open this event?
 * @kvm: its VM
 * @description: what it asks for
 *
 * Asks the host's PMU by creating the event, disabled, and releasing it.
 *
 * Return: 0; -EINVAL, -EACCES, -EOPNOTSUPP or -ENOMEM; -ENOENT for an event
 * that this host cannot count.
 */
int event_table_check(struct kvm *kvm,
		      const struct event_description *description)
{
	struct perf_event *event;
	int error = try_create(kvm, description, &event);

	if (!error)
		perf_event_release_kernel(event);
	return error;
}

static int open_event(struct event_table *table, struct event_slot *slot,
		      const struct event_description *description)
{
	int error;

	if (!event_policy_take()) {
		error = judge(table->kvm, description);
		return error ? error : -ENOMEM;
	}

	error = try_create(table->kvm, description, &slot->event);
	if (error) {
		slot->event = NULL;
		event_policy_give_back();
		return error;
	}

	slot->description = *description;
	return 0;
}

static bool is_request_valid(const struct kvm_pvperf_request *request)
{
	if (request->flags & ~KVM_PVPERF_FLAGS_ALL)
		return false;
	if (request->reserved[0] || request->reserved[1])
		return false;
	if (!(request->flags & KVM_PVPERF_FLAG_SAMPLING))
		return !request->period && !request->left;

	return request->period && request->period <= S64_MAX &&
	       request->left && request->left <= request->period;
}

static bool is_same_event(const struct event_description *one,
			  const struct event_description *other)
{
	return one->type == other->type && one->flags == other->flags &&
	       one->config == other->config;
}

static struct event_slot *slot_of(struct event_table *table, unsigned int id)
{
	return &table->slots[array_index_nospec(id, KVM_PVPERF_SLOTS)];
}

static void read_totals(struct event_slot *slot)
{
	slot->totals.count = perf_event_read_value(slot->event,
						   &slot->totals.enabled,
						   &slot->totals.running);
}

static void forget_event(struct event_table *table, unsigned int id)
{
	struct event_slot *slot = slot_of(table, id);
	struct perf_event *event = slot->event;

	table->started &= ~BIT(id);
	memset(slot, 0, sizeof(*slot));
	if (event) {
		perf_event_release_kernel(event);
		event_policy_give_back();
	}
}

/* A slot that could not be opened goes on saying why. */
void event_table_close(struct event_table *table, unsigned int id)
{
	if (slot_of(table, id)->event)
		forget_event(table, id);
}

void event_table_close_all(struct event_table *table)
{
	unsigned int id;

	for (id = 0; id < KVM_PVPERF_SLOTS; id++)
		event_table_close(table, id);
}

/**
 * event_table_open() - have an event that counts what a request describes
 * @table: the vCPU's
 * @id: below KVM_PVPERF_SLOTS
 * @request: a copy of the guest's half of the slot
 *
 * An event that counts just that already stays, running or not.
 */
void event_table_open(struct event_table *table, unsigned int id,
		      const struct kvm_pvperf_request *request)
{
	struct event_slot *slot = slot_of(table, id);
	const struct event_description description = {
		.type = request->type,
		.flags = request->flags,
		.config = request->config,
	};
	int error;

	if (!is_request_valid(request)) {
		forget_event(table, id);
		slot->state = KVM_PVPERF_STATE_INVALID;
		return;
	}

	if (slot->event && is_same_event(&slot->description, &description))
		return;

	forget_event(table, id);
	error = open_event(table, slot, &description);
	slot->state = error ? state_of_error(error) : KVM_PVPERF_STATE_STOPPED;
}

void event_table_start(struct event_table *table, unsigned int id,
		       const struct kvm_pvperf_request *request)
{
	struct event_slot *slot = slot_of(table, id);

	event_table_open(table, id, request);
	if (!slot->event)
		return;

	/* A stopped event's totals stand still: they were read when it stopped. */
	if (table->started & BIT(id))
		read_totals(slot);
	slot->run_start = slot->totals;
	slot->state = KVM_PVPERF_STATE_RUNNING;
	table->started |= BIT(id);
	perf_event_enable(slot->event);
}

void event_table_stop(struct event_table *table, unsigned int id)
{
	struct event_slot *slot = slot_of(table, id);

	if (!(table->started & BIT(id)))
		return;

	perf_event_disable(slot->event);
	read_totals(slot);
	table->started &= ~BIT(id);
	slot->state = KVM_PVPERF_STATE_STOPPED;
}

/**
 * event_table_report() - fill the host's half of a slot
 * @table: the vCPU's
 * @id: below KVM_PVPERF_SLOTS
 * @report: what the guest is to see of the current or the last run
 */
void event_table_report(struct event_table *table, unsigned int id,
			struct kvm_pvperf_report *report)
{
	struct event_slot *slot = slot_of(table, id);

	memset(report, 0, sizeof(*report));
	if (table->started & BIT(id)) {
		read_totals(slot);
		slot->state = KVM_PVPERF_STATE_RUNNING;
	}

	report->count = slot->totals.count - slot->run_start.count;
	report->time_enabled = slot->totals.enabled - slot->run_start.enabled;
	report->time_running = slot->totals.running - slot->run_start.running;
	if (slot->state == KVM_PVPERF_STATE_RUNNING &&
	    report->time_running < report->time_enabled)
		slot->state = KVM_PVPERF_STATE_CONTENDED;
	report->state = slot->state;
}

static struct perf_event *create_never_counting(u32 type, u64 config)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = 1,
		.exclude_host = type == PERF_TYPE_HARDWARE,
	};

	return perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
}

int event_table_init(void)
{
	struct perf_event *event;

	event = create_never_counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	if (IS_ERR(event)) {
		pr_err("cannot create a per-task event: error %ld\n",
		       PTR_ERR(event));
		return PTR_ERR(event);
	}
	keeps_task_events_enabled = event;

	/* A host without a PMU has nothing to reserve. */
	event = create_never_counting(PERF_TYPE_HARDWARE,
				      PERF_COUNT_HW_CPU_CYCLES);
	keeps_pmu_reserved = IS_ERR(event) ? NULL : event;
	return 0;
}

void event_table_exit(void)
{
	if (keeps_pmu_reserved)
		perf_event_release_kernel(keeps_pmu_reserved);
	perf_event_release_kernel(keeps_task_events_enabled);
}
