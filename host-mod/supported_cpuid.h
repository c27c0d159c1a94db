/* SPDX-License-Identifier: GPL-2.0 */
/* With advertise=vmm, what KVM_GET_SUPPORTED_CPUID tells VMMs. */
#ifndef _HOST_MOD_SUPPORTED_CPUID_H
#define _HOST_MOD_SUPPORTED_CPUID_H

#include <linux/kvm_host.h>

struct pt_regs;

bool supported_cpuid_wanted(struct pt_regs *regs);
int supported_cpuid_get(struct kvm_cpuid2 *cpuid,
			struct kvm_cpuid_entry2 __user *entries,
			unsigned int type);

#endif
