/* SPDX-License-Identifier: GPL-2.0 */
/* One vCPU's event ids, each backed by a host perf event. */
#ifndef _HOST_MOD_EVENT_TABLE_H
#define _HOST_MOD_EVENT_TABLE_H

#include "event_policy.h"
#include "throttling.h"

#include <linux/types.h>
#include <uapi/linux/kvm_pvperf.h>

struct event_table;
struct kvm_vcpu;
struct perf_event;
struct pmi;

/**
 * struct event_totals - what a host event has counted since it was created
 * @count: events
 * @enabled: nanoseconds in which it was enabled and its thread ran
 * @running: nanoseconds of those in which it was on a counter
 */
struct event_totals {
	u64 count;
	u64 enabled;
	u64 running;
};

/**
 * struct event_slot - one event id
 * @table: where it is
 * @event: the host's event, kept while its slot is stopped; or NULL
 * @description: what @event counts
 * @state: KVM_PVPERF_STATE_*
 * @totals: of @event, when last read
 * @run_start: of @event, when the current run began
 * @period: of the current run; 0 for an event that does not sample
 * @left: events to the first overflow of the current run
 * @overflows: of the current run, that the set of the table has had its bit for
 * @running: of the current run, as last reported
 * @throttling: of the current run
 *
 * The overflow handler of @event, which is called in NMI context, reads it,
 * writes @throttling and @overflows, and marks its slot in @table.
 */
struct event_slot {
	struct event_table *table;
	struct perf_event *event;
	struct event_description description;
	u32 state;
	struct event_totals totals;
	struct event_totals run_start;
	u64 period;
	u64 left;
	u64 overflows;
	u64 running;
	struct throttling throttling;
};

/**
 * struct event_table - the event ids of one vCPU
 * @vcpu: used only inside a hypercall of the vCPU
 * @pmi: tells the vCPU of an overflow
 * @started: set of the slots that count
 * @overflowed: set of the slots of which an overflow has not been reported;
 *	overflow handlers add to it
 * @told: set of the slots for which a PMI was raised since reports began last;
 *	overflow handlers add to it
 * @slots: by event id
 *
 * No lock: used by the vCPU's own thread inside a hypercall, and by whoever
 * has taken the table out of the vCPU's reach to free it.
 */
struct event_table {
	struct kvm_vcpu *vcpu;
	struct pmi *pmi;
	u32 started;
	unsigned long overflowed;
	unsigned long told;
	struct event_slot slots[KVM_PVPERF_SLOTS];
};

int event_table_check(struct kvm_vcpu *vcpu,
		      const struct event_description *event);

void event_table_open(struct event_table *table, unsigned int id,
		      const struct kvm_pvperf_request *request);
void event_table_start(struct event_table *table, unsigned int id,
		       const struct kvm_pvperf_request *request);
void event_table_stop(struct event_table *table, unsigned int id);
void event_table_close(struct event_table *table, unsigned int id);
void event_table_close_all(struct event_table *table);
void event_table_begin_reports(struct event_table *table);
void event_table_report(struct event_table *table, unsigned int id,
			struct kvm_pvperf_report *report);
u32 event_table_take_overflowed(struct event_table *table);

int event_table_init(void);
void event_table_exit(void);

#endif
