// SPDX-License-Identifier: GPL-2.0
/*
 * The perf core alone computes how long an event was active, and scales what
 * it counted by the share of time in which it was.  Where the host could not
 * count, the missing share is taken off that time, so that perf shows a
 * percentage or "not counted" instead of a number that is too small.
 *
 * All of this runs on the CPU that runs the events, with interrupts off.  The
 * perf core changes the times of an active event under the same conditions.
 */
#include "log.h"
#include "accounting.h"

#include <compat/perf_pmu.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>

/*
 * How long the event has been active.  In del the perf core has not yet added
 * the last stretch to total_time_running.
 */
static u64 active_time(struct perf_event *event)
{
	u64 time = event->total_time_running;

	if (event->state == PERF_EVENT_STATE_ACTIVE)
		time += compat_perf_event_time(event) - event->tstamp;
	return time;
}

static struct accounted_event *find(struct accounted_event *slots,
				    struct perf_event *event)
{
	unsigned int id;

	for (id = 0; id < KVM_PVPERF_SLOTS; id++)
		if (slots[id].event == event)
			return &slots[id];
	return NULL;
}

/* total_time_running may wrap below zero until the perf core adds to it. */
static void take_off(struct accounted_event *slots, struct perf_event *event,
		     u64 nanoseconds)
{
	struct accounted_event *slot = find(slots, event);

	event->total_time_running -= nanoseconds;
	if (slot)
		slot->active_until -= nanoseconds;
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
	take_off(slots, leader, worst_of_group(slots, leader) - worst_before);
	if (slot->event != leader)
		take_off(slots, slot->event, nanoseconds);
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

static u64 take_active_time(struct accounted_event *slot)
{
	u64 until = active_time(slot->event);
	u64 active = until - slot->active_until;

	slot->active_until = until;
	return active;
}

void accounting_begin(struct accounted_event *slot, struct perf_event *event)
{
	slot->event = event;
	slot->active_until = active_time(event);
	slot->missing = 0;
	accounting_new_run(slot);
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

void accounting_new_run(struct accounted_event *slot)
{
	memset(&slot->run, 0, sizeof(slot->run));
}

void accounting_report(struct accounted_event *slots, unsigned int id,
		       const struct kvm_pvperf_report *report)
{
	struct accounted_event *slot = &slots[id];
	u64 active;

	if (!is_counting_state(report->state)) {
		accounting_lost(slots, id);
		return;
	}

	local64_add(report->count - slot->run.count, &slot->event->count);
	active = take_active_time(slot);
	add_missing(slots, id,
		    missing_share(active,
				  report->time_enabled - slot->run.time_enabled,
				  report->time_running - slot->run.time_running));
	slot->run = *report;
}

/* Nothing is known of the time since the last report. */
void accounting_lost(struct accounted_event *slots, unsigned int id)
{
	add_missing(slots, id, take_active_time(&slots[id]));
}
