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
 * @count: of the host's current run, as accounted for
 * @enabled: of the host's current run, as taken
 * @running: of the host's current run, as taken
 * @new_enabled: host's nanoseconds, of which no time has been accounted for yet
 * @new_running: those of @new_enabled in which it counted
 * @active_until: clock of the event's context up to which time is accounted for
 * @covered_until: local clock of the last moment that the host has reported on
 * @gap: nanoseconds that no report covers, not yet accounted for
 * @is_lost: the host does not count it, since @covered_until
 * @has_run: the host has counted it since it got its slot
 * @missing: nanoseconds since the event got its slot in which it did not count
 */
struct accounted_event {
	struct perf_event *event;
	u64 count;
	u64 enabled;
	u64 running;
	u64 new_enabled;
	u64 new_running;
	u64 active_until;
	u64 covered_until;
	u64 gap;
	bool is_lost;
	bool has_run;
	u64 missing;
};

void accounting_begin(struct accounted_event *slot, struct perf_event *event);
void accounting_end(struct accounted_event *slots, unsigned int id);
void accounting_new_run(struct accounted_event *slot);
void accounting_take(struct accounted_event *slot,
		     const struct kvm_pvperf_report *report);
void accounting_settle(struct accounted_event *slots, unsigned int id,
		       const struct kvm_pvperf_report *report);
void accounting_lose(struct accounted_event *slot);
void accounting_no_report(struct accounted_event *slots, unsigned int id);

#endif
