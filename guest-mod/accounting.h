/* SPDX-License-Identifier: GPL-2.0 */
/* From the host's reports to the counts and times that perf shows. */
#ifndef _GUEST_MOD_ACCOUNTING_H
#define _GUEST_MOD_ACCOUNTING_H

#include <linux/types.h>
#include <uapi/linux/kvm_pvperf.h>

struct perf_event;

/**
 * struct accounted_event - an event in a slot
 * @event: perf's; NULL in a free slot
 * @run: the part of the host's current run that has been accounted for
 * @active_until: value of the event's active time, as accounted for
 * @missing: nanoseconds since the event got its slot in which it did not count
 */
struct accounted_event {
	struct perf_event *event;
	struct kvm_pvperf_report run;
	u64 active_until;
	u64 missing;
};

void accounting_begin(struct accounted_event *slot, struct perf_event *event);
void accounting_end(struct accounted_event *slots, unsigned int id);
void accounting_new_run(struct accounted_event *slot);
void accounting_report(struct accounted_event *slots, unsigned int id,
		       const struct kvm_pvperf_report *report);
void accounting_lost(struct accounted_event *slots, unsigned int id);

#endif
