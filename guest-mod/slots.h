/* SPDX-License-Identifier: GPL-2.0 */
/* This CPU's area and what the host does with it. */
#ifndef _GUEST_MOD_SLOTS_H
#define _GUEST_MOD_SLOTS_H

#include <linux/types.h>
#include <uapi/linux/kvm_pvperf.h>

/**
 * struct event_description - what the host is to count
 * @type: KVM_PVPERF_TYPE_*
 * @flags: KVM_PVPERF_FLAG_*
 * @config: as perf_event_attr.config of that type
 */
struct event_description {
	u32 type;
	u32 flags;
	u64 config;
};

int slots_alloc(void);
void slots_free(void);

unsigned int slots_group_limit(void);
void slots_close(void);
bool slots_can_sample(void);
int slots_check(const struct event_description *event);

/* All below: for the calling CPU, which must not change meanwhile. */
void slots_reset(void);
u32 slots_usable(void);
bool slots_describes(unsigned int id, const struct event_description *event);
void slots_describe(unsigned int id, const struct event_description *event);
void slots_plan_run(unsigned int id, u64 period, u64 left);
u64 slots_min_period(void);
unsigned long slots_used_at(void);
int slots_operate(enum kvm_pvperf_op operation, u32 set);
void slots_copy_report(unsigned int id, struct kvm_pvperf_report *report);

#endif
