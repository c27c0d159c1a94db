/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_KVM_EVENT_FILTER_H
#define _COMPAT_KVM_EVENT_FILTER_H

#include <linux/kvm_host.h>
#include <linux/perf_event.h>
#include <linux/srcu.h>
#include <linux/version.h>

/*
 * Does the filter that the VMM gave KVM for this VM's vPMU let the guest use
 * a raw event?  Called from the vCPU's thread, which holds kvm->srcu.
 */
static inline bool compat_kvm_event_filter_allows(struct kvm *kvm, u64 config)
{
/* 6.3, "KVM: x86/pmu: Introduce masked events to the pmu event filter" */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	/* Masked entries are KVM's to interpret: with any filter, no raw event. */
	return !rcu_access_pointer(kvm->arch.pmu_event_filter);
#else
	struct kvm_pmu_event_filter *filter;
	u64 event = config & AMD64_RAW_EVENT_MASK_NB;
	bool listed = false;
	u32 i;

	filter = srcu_dereference(kvm->arch.pmu_event_filter, &kvm->srcu);
	if (!filter)
		return true;

	for (i = 0; i < filter->nevents && !listed; i++)
		listed = filter->events[i] == event;

	return listed == (filter->action == KVM_PMU_EVENT_ALLOW);
#endif
}

#endif
