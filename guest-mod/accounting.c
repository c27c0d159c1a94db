// SPDX-License-Identifier: GPL-2.0
/*
 * The perf core alone computes how long an event was active, and scales what
 * it counted by the share of time in which it was.  Where the host could not
 * count, the missing share is taken off that time, so that perf shows a
 * percentage or "not counted" instead of a number that is too small.
 *
 * All of this runs on the CPU that runs the events, with interrupts off: there
 * the perf core does not change the times of an active event meanwhile, unless
 * an NMI has interrupted it.  It
 * brings the clock of an event's context up to date for the context that it
 * works on, only.  A report on an event of another context, or for one of the
 * readers that do without, finds that no time has passed: then counts are
 * taken, and times are left to the next report.
 */
#include "log.h"
#include "accounting.h"

#include <compat/perf_pmu.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/string.h>

static struct accounted_event *find(struct accounted_event *slots,
				    struct perf_event *event)
{
	unsigned int id;

	for (id = 0; id < KVM_PVPERF_SLOTS; id++)
		if (slots[id].event == event)
			return &slots[id];
	return NULL;
}

/*
 * Does the perf core's own update first, so that the running time is never
 * less than nothing, not even for a reader on another CPU.
 */
static void take_off(struct perf_event *event, u64 nanoseconds)
{
	u64 time = compat_perf_event_time(event);
	u64 active = 0;

	if (event->state == PERF_EVENT_STATE_ACTIVE)
		active = time - event->tstamp;

	nanoseconds = min(nanoseconds, event->total_time_running + active);
	event->total_time_enabled += active;
	event->total_time_running += active - nanoseconds;
	event->tstamp += active;
}

static u64 worst_of_group(struct accounted_event *slots,
			  struct perf_event *leader)
{
	u64 worst = 0;
	unsigned int id;

	for (id = 0; id < KVM_PVPERF_SLOTS; id++)
		if (slots[id].event && slots[id].event->group_leader == leader)
			worst = max(worst, slots[id].missing);
	return worst;
}

/*
 * A group is read with its leader's times, so the leader, which may be a
 * software event, misses what the worst of its group misses.
 */
static void add_missing(struct accounted_event *slots, unsigned int id,
			u64 nanoseconds)
{
	struct accounted_event *slot = &slots[id];
	struct perf_event *leader = slot->event->group_leader;
	u64 worst_before;

	if (!nanoseconds)
		return;

	worst_before = worst_of_group(slots, leader);
	slot->missing += nanoseconds;
	take_off(leader, worst_of_group(slots, leader) - worst_before);
	if (slot->event != leader)
		take_off(slot->event, nanoseconds);
}

static bool is_counting_state(u32 state)
{
	return state == KVM_PVPERF_STATE_RUNNING ||
	       state == KVM_PVPERF_STATE_CONTENDED ||
	       state == KVM_PVPERF_STATE_THROTTLED ||
	       state == KVM_PVPERF_STATE_STOPPED;
}

/* Of the time that the event was active, the share that the host missed. */
static u64 missing_share(u64 active, u64 enabled, u64 running)
{
	if (!enabled || running >= enabled)
		return 0;
	return active - mul_u64_u64_div_u64(active, running, enabled);
}

/* An event is active from the moment that it gets its slot. */
static u64 take_active_time(struct accounted_event *slot)
{
	u64 until = compat_perf_event_time(slot->event);
	u64 active = until - slot->active_until;

	slot->active_until = until;
	return active;
}

/* Adds what has gone by since the host stopped counting to the gap. */
static void extend_gap(struct accounted_event *slot)
{
	u64 now = local_clock();

	if (slot->is_lost)
		slot->gap += now - slot->covered_until;
	slot->covered_until = now;
}

static u64 take_gap(struct accounted_event *slot, u64 active)
{
	u64 lost = min(slot->gap, active);

	slot->gap -= lost;
	return lost;
}

void accounting_begin(struct accounted_event *slot, struct perf_event *event)
{
	memset(slot, 0, sizeof(*slot));
	slot->event = event;
	slot->active_until = compat_perf_event_time(event);
	slot->covered_until = local_clock();
}

/* What a leaving member missed stays missing for its group. */
void accounting_end(struct accounted_event *slots, unsigned int id)
{
	struct accounted_event *slot = &slots[id];
	struct accounted_event *leader = find(slots, slot->event->group_leader);

	if (leader)
		leader->missing = max(leader->missing, slot->missing);
	slot->event = NULL;
}

/* The host counts from now on, from zero. */
void accounting_new_run(struct accounted_event *slot)
{
	extend_gap(slot);
	slot->is_lost = false;
	slot->has_run = true;
	slot->count = 0;
	slot->enabled = 0;
	slot->running = 0;
}

/**
 * accounting_take() - what has been counted
 * @slot: the event
 * @report: the host's
 *
 * In NMI context too: the perf core may be at work on the event's times then, so
 * they wait for accounting_settle().
 */
void accounting_take(struct accounted_event *slot,
		     const struct kvm_pvperf_report *report)
{
	extend_gap(slot);
	if (!is_counting_state(report->state))
		return;

	local64_add(report->count - slot->count, &slot->event->count);
	slot->new_enabled += report->time_enabled - slot->enabled;
	slot->new_running += report->time_running - slot->running;
	slot->count = report->count;
	slot->enabled = report->time_enabled;
	slot->running = report->time_running;
}

/**
 * accounting_settle() - the times that belong to what has been taken
 * @slots: of this CPU
 * @id: the event's
 * @report: the host's last
 */
void accounting_settle(struct accounted_event *slots, unsigned int id,
		       const struct kvm_pvperf_report *report)
{
	struct accounted_event *slot = &slots[id];
	u64 active = take_active_time(slot);
	u64 lost;

	if (!active)
		return;

	if (!is_counting_state(report->state)) {
		add_missing(slots, id, active);
		return;
	}

	lost = take_gap(slot, active);
	add_missing(slots, id, lost + missing_share(active - lost,
						    slot->new_enabled,
						    slot->new_running));
	slot->new_enabled = 0;
	slot->new_running = 0;
}

/* The host has forgotten it, or does not answer. */
void accounting_lose(struct accounted_event *slot)
{
	slot->is_lost = true;
}

/* In place of a report, for an event that the host does not count now. */
void accounting_no_report(struct accounted_event *slots, unsigned int id)
{
	struct accounted_event *slot = &slots[id];
	u64 active = take_active_time(slot);

	extend_gap(slot);
	add_missing(slots, id, slot->has_run ? take_gap(slot, active) : active);
}
