/* SPDX-License-Identifier: GPL-2.0 */
/* Where a table of CPUID leaves has those of KVM. */
#ifndef _HOST_MOD_KVM_LEAVES_H
#define _HOST_MOD_KVM_LEAVES_H

#include <asm/kvm.h>
#include <linux/string.h>
#include <linux/types.h>

/* Where hypervisors' leaves may be, and how far apart. */
#define HYPERVISOR_LEAVES_FIRST	0x40000000U
#define HYPERVISOR_LEAVES_LAST	0x4000ff00U
#define HYPERVISOR_LEAVES_MASK	0xffU

static __always_inline bool is_hypervisor_base(u32 function)
{
	return function >= HYPERVISOR_LEAVES_FIRST &&
	       function <= HYPERVISOR_LEAVES_LAST &&
	       !(function & HYPERVISOR_LEAVES_MASK);
}

static __always_inline bool is_kvm_base(const struct kvm_cpuid_entry2 *entry)
{
	const u32 signature[] = { entry->ebx, entry->ecx, entry->edx };

	return is_hypervisor_base(entry->function) &&
	       !memcmp(signature, "KVMKVMKVM\0\0\0", sizeof(signature));
}

#endif
