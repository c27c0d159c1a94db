// SPDX-License-Identifier: GPL-2.0
/*
 * What an NMI may interrupt here.  The host's PMI comes as an NMI, at any moment
 * at which a sampling event is started, also in the middle of any function below.
 * The handler asks the host itself, and works on the same events.  So each entry
 * is a section between begin() and end(), and while the CPU is in one, or the perf
 * core has the PMU disabled, the handler does no more than note that it has been
 * called.  The last end() does what is pending then, the noted PMI included.
 */
#include "log.h"
#include "cpu_events.h"

#include "accounting.h"
#include "host_check.h"
#include "pmi.h"
#include "sampling.h"

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

/**
 * struct cpu_events - the events that are on this CPU
 * @slots: by event id
 * @runs: of the sampling events, by event id
 * @sample_periods: what has overflowed and was not delivered yet, by event id
 * @started: set of the slots that the host counts
 * @pending: set of the slots that are to be started
 * @sampling: set of the slots with sampling events
 * @due: set of the slots that have a sample to deliver
 * @fresh: while samples are delivered, set of the slots that were just reported
 * @to_read: set of the slots that this transaction reads
 * @transaction: PERF_PMU_TXN_* between the begin of one and its end
 * @sections: depth of begin()
 * @is_disabled: between pmu_disable and pmu_enable
 * @is_delivering: samples are being delivered
 * @is_pmi_noted: a PMI came at an unsuitable moment
 * @pmis_seen: since the host last reported
 * @is_late_pmi_expected: the host may have sent a PMI for what it has reported
 * @periods_renewed_at: ktime_get_mono_fast_ns() when a PMI last had the periods renewed
 *
 * Used by its own CPU, with interrupts off.
 */
struct cpu_events {
	struct accounted_event slots[KVM_PVPERF_SLOTS];
	struct sampled_run runs[KVM_PVPERF_SLOTS];
	u64 sample_periods[KVM_PVPERF_SLOTS];
	u32 started;
	u32 pending;
	u32 sampling;
	u32 due;
	u32 fresh;
	u32 to_read;
	unsigned int transaction;
	unsigned int sections;
	bool is_disabled;
	bool is_delivering;
	bool is_pmi_noted;
	unsigned int pmis_seen;
	bool is_late_pmi_expected;
	u64 periods_renewed_at;
};

static DEFINE_PER_CPU(struct cpu_events, cpu_events);

/* Returns how many samples are due for it. */
static u32 take_report(struct cpu_events *this, unsigned int id)
{
	struct accounted_event *slot = &this->slots[id];
	struct kvm_pvperf_report report;
	u64 overflows_before;
	u64 period;

	slots_copy_report(id, &report);
	accounting_take(slot, &report);
	if (!in_nmi())
		accounting_settle(this->slots, id, &report);

	if (!(this->sampling & BIT(id)))
		return 0;

	overflows_before = this->runs[id].overflows;
	period = sampling_report(&this->runs[id], slot->event, &report);
	if (period) {
		this->sample_periods[id] += period;
		this->due |= BIT(id);
	}
	return this->runs[id].overflows - overflows_before;
}

/*
 * Each overflow may have sent a PMI, and the host may tell of it before that is
 * seen.  Outside NMI context nothing is on its way before an operation: then the
 * host has had the guest interrupted.
 */
static void expect_late_pmi(struct cpu_events *this, u32 overflows)
{
	if (!in_nmi() && !this->pmis_seen)
		this->is_late_pmi_expected = false;

	this->is_late_pmi_expected =
		this->is_late_pmi_expected + overflows > this->pmis_seen;
	this->pmis_seen = 0;
}

/* After the host has reported on a set. */
static bool take_reports(struct cpu_events *this, unsigned long set)
{
	u32 overflows = 0;
	unsigned int id;

	for_each_set_bit(id, &set, KVM_PVPERF_SLOTS)
		overflows += take_report(this, id);

	this->fresh |= set;
	expect_late_pmi(this, overflows);
	return overflows;
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
 * It may have sent a PMI before.
 */
static void lose_started(struct cpu_events *this)
{
	lose_set(this, this->started);
	this->is_late_pmi_expected |= this->started & this->sampling;
	this->pmis_seen = 0;
	this->pending |= this->started;
	this->started = 0;
}

static void plan_run(struct cpu_events *this, unsigned int id)
{
	struct sampled_run *run = &this->runs[id];

	if (!(this->sampling & BIT(id)))
		return;

	sampling_plan_run(run, this->slots[id].event, slots_min_period());
	slots_plan_run(id, run->period, run->left);
}

/* What sampling holds back is looked at again when its time has come. */
static u32 startable(struct cpu_events *this)
{
	unsigned long sampling = this->pending & this->sampling;
	u32 set = this->pending & slots_usable();
	unsigned int id;
	u64 wait;

	for_each_set_bit(id, &sampling, KVM_PVPERF_SLOTS) {
		wait = sampling_wait(&this->runs[id]);
		if (!wait)
			continue;
		set &= ~BIT(id);
		host_check_start_within(wait);
	}
	return set;
}

static int try_to_start_pending(struct cpu_events *this)
{
	unsigned long set = startable(this);
	unsigned int id;
	int error;

	if (!set)
		return 0;

	if (set & this->sampling)
		pmi_expect();
	for_each_set_bit(id, &set, KVM_PVPERF_SLOTS)
		plan_run(this, id);

	/* Before the first PMI can come, which must be known for one. */
	this->pending &= ~set;
	this->started |= set;
	barrier();
	error = slots_operate(KVM_PVPERF_OP_START, set);
	if (error) {
		this->started &= ~set;
		this->pending |= set;
		lose_started(this);
		return error;
	}

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
	host_check_start();
}

/* Of what is lost, anything may have overflowed. */
static bool stop_set(struct cpu_events *this, u32 set)
{
	bool has_overflowed;

	if (slots_operate(KVM_PVPERF_OP_STOP, set)) {
		lose_started(this);
		return true;
	}
	has_overflowed = take_reports(this, set);
	this->started &= ~set;
	return has_overflowed;
}

static bool read_set(struct cpu_events *this, u32 set)
{
	if (slots_operate(KVM_PVPERF_OP_READ, set)) {
		lose_started(this);
		return true;
	}
	return take_reports(this, set);
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

/*
 * The perf core does this to several events of a context in a row, so the first
 * stops them all, with one exit.  Those that are to go on are started by
 * pmu_enable, with one more.
 */
static void stop_context(struct cpu_events *this, struct perf_event *event)
{
	u32 set = started_of_context(this, event);

	stop_set(this, set);
	this->pending |= set;
}

static void stop_event(struct cpu_events *this, struct perf_event *event)
{
	u32 bit;

	if (event->hw.state & PERF_HES_STOPPED)
		return;

	bit = BIT(event->hw.idx);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (this->started & bit)
		stop_context(this, event);
	this->pending &= ~bit;
}

static void deliver(struct cpu_events *this, unsigned int id,
		    struct pt_regs *regs)
{
	struct perf_event *event = this->slots[id].event;
	u64 period = this->sample_periods[id];

	this->sample_periods[id] = 0;
	if (!sampling_deliver(&this->runs[id], event, period, regs))
		return;

	/* Until the perf core starts it again, it counts nothing. */
	stop_event(this, event);
	accounting_lose(&this->slots[id]);
}

/*
 * The perf core may stop, start and read events while it takes a sample, which may
 * make more samples due.
 */
static void deliver_due(struct cpu_events *this, struct pt_regs *regs)
{
	unsigned int id;

	if (this->is_delivering)
		return;

	this->is_delivering = true;
	while (this->due) {
		id = __ffs(this->due);
		this->due &= ~BIT(id);
		deliver(this, id, regs);
	}
	this->is_delivering = false;
	this->fresh = 0;
}

/* Of those that have a frequency: is a period far from what it should be? */
static bool must_renew_periods(struct cpu_events *this)
{
	unsigned long set = this->started & this->sampling;
	unsigned int id;

	/* Other clocks may stand still while nothing but PMIs comes through. */
	if (ktime_get_mono_fast_ns() - this->periods_renewed_at < TICK_NSEC)
		return false;

	for_each_set_bit(id, &set, KVM_PVPERF_SLOTS)
		if (sampling_is_period_far_off(&this->runs[id],
					       this->slots[id].event))
			return true;
	return false;
}

/*
 * One exit for all that is started, since a sample may show the values of its whole
 * group.
 */
static bool handle_pmi(struct cpu_events *this, struct pt_regs *regs)
{
	u32 set = this->started;
	bool has_overflowed;

	pmi_unmask();
	if (!(set & this->sampling))
		return false;

	if (must_renew_periods(this)) {
		this->periods_renewed_at = ktime_get_mono_fast_ns();
		has_overflowed = stop_set(this, set);
		this->pending |= set & ~this->started;
	} else {
		has_overflowed = read_set(this, set);
	}
	deliver_due(this, regs);
	return has_overflowed;
}

static struct cpu_events *begin(void)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);

	this->sections++;
	barrier();
	return this;
}

static void do_pending(struct cpu_events *this)
{
	if (this->is_pmi_noted) {
		this->is_pmi_noted = false;
		handle_pmi(this, NULL);
	}
	if (this->pending)
		start_pending(this);
}

static void end(struct cpu_events *this)
{
	if (this->sections == 1) {
		deliver_due(this, NULL);
		if (!this->is_disabled && this->pending)
			start_pending(this);
	}

	barrier();
	this->sections--;
	barrier();

	/* An NMI may come here, and be noted, until the section has ended. */
	while (!this->sections && !this->is_disabled &&
	       READ_ONCE(this->is_pmi_noted)) {
		this->sections++;
		barrier();
		do_pending(this);
		barrier();
		this->sections--;
		barrier();
	}
}

void cpu_events_disable(void)
{
	this_cpu_write(cpu_events.is_disabled, true);
}

void cpu_events_enable(void)
{
	struct cpu_events *this = begin();

	this->is_disabled = false;
	end(this);
}

static void start_event(struct cpu_events *this, struct perf_event *event)
{
	event->hw.state = 0;
	this->pending |= BIT(event->hw.idx);
}

void cpu_events_start(struct perf_event *event)
{
	struct cpu_events *this = begin();

	start_event(this, event);
	end(this);
}

void cpu_events_stop(struct perf_event *event)
{
	struct cpu_events *this = begin();

	stop_event(this, event);
	end(this);
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

/**
 * cpu_events_add() - give an event a slot
 * @event: not on any CPU
 * @description: what it counts
 *
 * Return: 0, or -EAGAIN if the slots are in use.
 */
int cpu_events_add(struct perf_event *event,
		   const struct event_description *description)
{
	struct cpu_events *this = begin();
	int id = find_free_slot(this, description);

	if (id >= 0) {
		slots_describe(id, description);
		accounting_begin(&this->slots[id], event);
		if (is_sampling_event(event))
			this->sampling |= BIT(id);
		memset(&this->runs[id], 0, sizeof(this->runs[id]));
		event->hw.idx = id;
		event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	}
	end(this);
	return id < 0 ? id : 0;
}

void cpu_events_del(struct perf_event *event)
{
	struct cpu_events *this = begin();
	unsigned int id = event->hw.idx;
	u32 bit = BIT(id);

	if (this->started & bit)
		stop_context(this, event);
	if (this->slots[id].is_lost)
		accounting_no_report(this->slots, id);

	/* The perf core may try to start it once more, for its new period. */
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	deliver_due(this, NULL);

	this->pending &= ~bit;
	this->sampling &= ~bit;
	accounting_end(this->slots, id);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	event->hw.idx = -1;
	end(this);
}

static void read_now(struct cpu_events *this, u32 wanted)
{
	unsigned long uncounted = wanted & this->pending;
	u32 set = wanted & this->started & ~this->fresh;
	unsigned int id;

	if (set)
		read_set(this, set);

	/* What is pending in a disabled PMU will be started in a moment. */
	if (this->is_disabled || in_nmi())
		return;

	uncounted |= wanted & this->pending;
	for_each_set_bit(id, &uncounted, KVM_PVPERF_SLOTS)
		accounting_no_report(this->slots, id);
}

/* In a transaction, at its end. */
void cpu_events_read(struct perf_event *event)
{
	struct cpu_events *this = begin();
	u32 bit = BIT(event->hw.idx);

	if (this->transaction & PERF_PMU_TXN_READ)
		this->to_read |= bit;
	else
		read_now(this, bit);
	end(this);
}

void cpu_events_begin_transaction(unsigned int flags)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);

	this->transaction = flags;
	this->to_read = 0;
}

void cpu_events_commit_transaction(void)
{
	struct cpu_events *this = begin();
	unsigned int transaction = this->transaction;

	this->transaction = 0;
	if (transaction & PERF_PMU_TXN_READ)
		read_now(this, this->to_read);
	end(this);
}

void cpu_events_cancel_transaction(void)
{
	this_cpu_write(cpu_events.transaction, 0);
}

static bool handle_nmi(struct cpu_events *this, struct pt_regs *regs)
{
	bool was_late_pmi_expected = this->is_late_pmi_expected;

	if (this->started & this->sampling) {
		this->pmis_seen++;
		return handle_pmi(this, regs) || was_late_pmi_expected;
	}

	if (was_late_pmi_expected)
		pmi_unmask();
	this->is_late_pmi_expected = false;
	return was_late_pmi_expected;
}

/**
 * cpu_events_interrupt() - an NMI, by the local APIC
 * @regs: where it has interrupted
 *
 * Return: whether it was for us.  In the middle of something that cannot be
 * asked; but then there are events that may well have overflowed.
 */
bool cpu_events_interrupt(struct pt_regs *regs)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);
	bool is_ours;

	if ((this->sections || this->is_disabled) &&
	    this->started & this->sampling) {
		pmi_mask();
		this->is_pmi_noted = true;
		this->pmis_seen++;
		return true;
	}

	begin();
	is_ours = handle_nmi(this, regs);
	end(this);
	return is_ours;
}

/* What is pending is tried again at the end. */
void cpu_events_check_host(void)
{
	struct cpu_events *this = this_cpu_ptr(&cpu_events);

	if (!this->started && !this->pending)
		return;

	begin();
	if (!time_before(jiffies, slots_used_at() + HZ) &&
	    slots_operate(KVM_PVPERF_OP_READ, 0))
		lose_started(this);
	end(this);
	host_check_start();
}
