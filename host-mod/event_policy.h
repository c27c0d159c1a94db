/* SPDX-License-Identifier: GPL-2.0 */
/* Which events guests may open, and how many. */
#ifndef _HOST_MOD_EVENT_POLICY_H
#define _HOST_MOD_EVENT_POLICY_H

#include <linux/types.h>

struct kvm;

/**
 * struct event_description - what a guest wants to count
 * @type: KVM_PVPERF_TYPE_*
 * @flags: KVM_PVPERF_FLAG_*
 * @config: as perf_event_attr.config of that type
 *
 * A copy of our own, never guest memory.
 */
struct event_description {
	u32 type;
	u32 flags;
	u64 config;
};

int event_policy_check(struct kvm *kvm, const struct event_description *event);
unsigned int event_policy_slots(void);
unsigned int event_policy_min_period(void);
bool event_policy_take(void);
void event_policy_give_back(void);

#endif
