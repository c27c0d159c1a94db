/* SPDX-License-Identifier: GPL-2.0 */
/* One vCPU's event ids, each backed by a host perf event. */
#ifndef _HOST_MOD_EVENT_TABLE_H
#define _HOST_MOD_EVENT_TABLE_H

#include "event_policy.h"

#include <linux/types.h>
#include <uapi/linux/kvm_pvperf.h>

struct kvm;
struct perf_event;

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
 * @event: the host's event, kept while its slot is stopped; or NULL
 * @description: what @event counts
 * @state: KVM_PVPERF_STATE_*
 * @totals: of @event, when last read
 * @run_start: of @event, when the current run began
 */
struct event_slot {
	struct perf_event *event;
	struct event_description description;
	u32 state;
	struct event_totals totals;
	struct event_totals run_start;
};

/**
 * struct event_table - the event ids of one vCPU
 * @kvm: its VM, used only inside a hypercall of the vCPU
 * @started: set of the slots that count
 * @slots: by event id
 *
 * No lock: used by the vCPU's own thread inside a hypercall, and by whoever
 * has taken the table out of the vCPU's reach to free it.
 */
struct event_table {
	struct kvm *kvm;
	u32 started;
	struct event_slot slots[KVM_PVPERF_SLOTS];
};

int event_table_check(struct kvm *kvm, const struct event_description *event);

void event_table_open(struct event_table *table, unsigned int id,
		      const struct kvm_pvperf_request *request);
void event_table_start(struct event_table *table, unsigned int id,
		       const struct kvm_pvperf_request *request);
void event_table_stop(struct event_table *table, unsigned int id);
void event_table_close(struct event_table *table, unsigned int id);
void event_table_close_all(struct event_table *table);
void event_table_report(struct event_table *table, unsigned int id,
			struct kvm_pvperf_report *report);

int event_table_init(void);
void event_table_exit(void);

#endif
