// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "event_table.h"

#include "pmi.h"

#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/kvm_host.h>
#include <linux/math64.h>
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

/* Of a sampling event until its first run: none that would ever be reached. */
#define UNUSED_PERIOD	(S64_MAX / 2)

/* By the rule of docs/abi.md, section 8. */
static u64 overflows_of(const struct event_slot *slot, u64 count)
{
	if (!slot->period || count < slot->left)
		return 0;
	return 1 + div64_u64(count - slot->left, slot->period);
}

/*
 * NMI context on most CPUs, on the CPU that runs the event, or has just done so.
 * It may interrupt a hypercall that works on the very slot.
 */
static void event_overflowed(struct perf_event *event,
			     struct perf_sample_data *data,
			     struct pt_regs *regs)
{
	struct event_slot *slot = event->overflow_handler_context;
	struct event_table *table = slot->table;
	u64 count = local64_read(&event->count) - READ_ONCE(slot->run_start.count);
	u64 overflows = overflows_of(slot, count);

	throttling_overflow(&slot->throttling, event);

	/* A report was faster than the interrupt. */
	if (overflows <= READ_ONCE(slot->overflows))
		return;

	WRITE_ONCE(slot->overflows, overflows);
	set_bit(slot - table->slots, &table->overflowed);

	/*
	 * A guest that is told again before it has asked may get no further: an
	 * exception in its NMI handler lets in the next NMI, and nothing else.
	 */
	if (!test_and_set_bit(slot - table->slots, &table->told))
		pmi_raise(table->pmi);
}

/* @slot is NULL for an event that is never enabled. */
static struct perf_event *create(const struct event_description *description,
				 struct event_slot *slot)
{
	bool is_sampling = description->flags & KVM_PVPERF_FLAG_SAMPLING;
	struct perf_event_attr attr = {
		.type = description->type,
		.size = sizeof(attr),
		.config = description->config,
		.sample_period = is_sampling ? UNUSED_PERIOD : 0,
		.disabled = 1,
		.exclude_host = 1,
		.exclude_user =
			!!(description->flags & KVM_PVPERF_FLAG_EXCLUDE_USER),
		.exclude_kernel =
			!!(description->flags & KVM_PVPERF_FLAG_EXCLUDE_KERNEL),
	};

	return perf_event_create_kernel_counter(&attr, -1, current,
						event_overflowed, slot);
}

/* In the order that docs/abi.md gives: what is wrong with it comes first. */
static int judge(struct kvm_vcpu *vcpu,
		 const struct event_description *description)
{
	if (description->flags & ~KVM_PVPERF_FLAGS_ALL)
		return -EINVAL;
	if (description->flags & KVM_PVPERF_FLAG_SAMPLING &&
	    !pmi_is_possible(vcpu))
		return -EOPNOTSUPP;

	return event_policy_check(vcpu->kvm, description);
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

static int try_create(struct kvm_vcpu *vcpu,
		      const struct event_description *description,
		      struct event_slot *slot, struct perf_event **event)
{
	int error = judge(vcpu, description);

	if (error)
		return error;

	*event = create(description, slot);
	return IS_ERR(*event) ? error_of_create(PTR_ERR(*event)) : 0;
}

/**
 * event_table_check() - could the calling vCPU open this event?
 * @vcpu: the vCPU
 * @description: what it asks for
 *
 * Asks the host's PMU by creating the event, disabled, and releasing it.
 *
 * Return: 0; -EINVAL, -EACCES, -EOPNOTSUPP or -ENOMEM; -ENOENT for an event
 * that this host cannot count.
 */
int event_table_check(struct kvm_vcpu *vcpu,
		      const struct event_description *description)
{
	struct perf_event *event;
	int error = try_create(vcpu, description, NULL, &event);

	if (!error)
		perf_event_release_kernel(event);
	return error;
}

static int open_event(struct event_table *table, struct event_slot *slot,
		      const struct event_description *description)
{
	int error;

	if (!event_policy_take()) {
		error = judge(table->vcpu, description);
		return error ? error : -ENOMEM;
	}

	slot->table = table;
	error = try_create(table->vcpu, description, slot, &slot->event);
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

	return request->period >= event_policy_min_period() &&
	       request->period <= S64_MAX &&
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

	table->started &= ~BIT(id);
	if (slot->event) {
		/* After that no overflow handler looks at the slot. */
		perf_event_release_kernel(slot->event);
		event_policy_give_back();
	}
	clear_bit(id, &table->overflowed);
	clear_bit(id, &table->told);
	memset(slot, 0, sizeof(*slot));
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

/*
 * Some CPUs refuse periods below 32, or 128, of some events, or below 2, which
 * may mean branch tracing there.  Since overflows follow from the count, a
 * multiple does: then several of them come together.
 */
#define REFUSED_PERIODS_END	128

static int set_period_of_event(struct perf_event *event, u64 period)
{
	int error = perf_event_period(event, period);

	while (error == -EINVAL && period < REFUSED_PERIODS_END) {
		period *= 2;
		error = perf_event_period(event, period);
	}
	return error;
}

/*
 * The event is disabled, so nothing else uses its hw now.  Setting the period
 * makes the next overflow come after a whole one, so what is left is set after
 * that; the PMU reloads the period by itself from then on.
 */
static int set_period(struct event_slot *slot,
		      const struct kvm_pvperf_request *request)
{
	int error = 0;

	if (slot->period != request->period)
		error = set_period_of_event(slot->event, request->period);
	if (error)
		return error;

	local64_set(&slot->event->hw.period_left, request->left);
	slot->period = request->period;
	slot->left = request->left;
	return 0;
}

void event_table_start(struct event_table *table, unsigned int id,
		       const struct kvm_pvperf_request *request)
{
	struct event_slot *slot = slot_of(table, id);

	event_table_open(table, id, request);
	if (!slot->event)
		return;

	/* Of a run that is lost the totals must be read, too. */
	event_table_stop(table, id);
	if (request->flags & KVM_PVPERF_FLAG_SAMPLING &&
	    set_period(slot, request)) {
		forget_event(table, id);
		slot->state = KVM_PVPERF_STATE_UNSUPPORTED;
		return;
	}

	slot->run_start = slot->totals;
	slot->overflows = 0;
	slot->running = 0;
	throttling_begin_run(&slot->throttling);
	slot->state = KVM_PVPERF_STATE_RUNNING;
	table->started |= BIT(id);
	perf_event_enable(slot->event);
}

/* Never less than reported before: the end of a throttling is an estimate. */
static u64 running_of_run(struct event_slot *slot)
{
	u64 running = slot->totals.running - slot->run_start.running;
	u64 throttled = throttling_total(&slot->throttling, slot->event);

	slot->running = max(slot->running,
			    running - min(running, throttled));
	return slot->running;
}

static u32 state_of_run(const struct event_slot *slot,
			const struct kvm_pvperf_report *report)
{
	if (report->time_running == report->time_enabled)
		return KVM_PVPERF_STATE_RUNNING;
	return slot->throttling.total || slot->throttling.since ?
		KVM_PVPERF_STATE_THROTTLED : KVM_PVPERF_STATE_CONTENDED;
}

static void report_overflows(struct event_table *table, unsigned int id,
			     struct kvm_pvperf_report *report)
{
	struct event_slot *slot = slot_of(table, id);
	u64 overflows = overflows_of(slot, report->count);

	if (overflows > slot->overflows) {
		set_bit(id, &table->overflowed);
		WRITE_ONCE(slot->overflows, overflows);
	}
	report->overflows = overflows;
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
	bool is_started = table->started & BIT(id);

	memset(report, 0, sizeof(*report));
	if (is_started)
		read_totals(slot);

	if (slot->event) {
		report->count = slot->totals.count - slot->run_start.count;
		report->time_enabled =
			slot->totals.enabled - slot->run_start.enabled;
		report->time_running = running_of_run(slot);
		report_overflows(table, id, report);
	}

	if (is_started)
		slot->state = state_of_run(slot, report);
	report->state = slot->state;
}

/*
 * Before anything is reported: an overflow that the reports do not show has a PMI
 * of its own.
 */
void event_table_begin_reports(struct event_table *table)
{
	xchg(&table->told, 0);
}

/* What has overflowed since this was last asked, reported in this call or not. */
u32 event_table_take_overflowed(struct event_table *table)
{
	return xchg(&table->overflowed, 0);
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
