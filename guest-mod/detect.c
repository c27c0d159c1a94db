// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "detect.h"

#include "hypercall.h"

#include <asm/cpufeature.h>
#include <compat/hypervisor_cpuid.h>
#include <compat/memory_encryption.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <uapi/linux/kvm_pvperf.h>

static bool has_feature_bit(u32 base)
{
	return cpuid_eax(base + 1) & BIT(KVM_PVPERF_FEATURE_BIT);
}

/**
 * detect_host() - look for the feature bit and a host that answers for it
 *
 * Return: 0; -ENODEV, after one line that says what is missing.
 */
int detect_host(void)
{
	u32 base = 0;
	long answer;

	if (boot_cpu_has(X86_FEATURE_HYPERVISOR))
		base = compat_hypervisor_cpuid_base("KVMKVMKVM\0\0\0", 1);
	if (!base) {
		pr_err("this is no KVM guest, or its VMM hides KVM's signature\n");
		return -ENODEV;
	}

	if (!has_feature_bit(base)) {
		pr_err("the host does not offer the paravirtual PMU (CPUID 0x%x, EAX bit %d): is kvm_pvperf_host loaded there?\n",
		       base + 1, KVM_PVPERF_FEATURE_BIT);
		return -ENODEV;
	}

	if (compat_guest_memory_is_encrypted()) {
		pr_err("the host cannot write into this guest's encrypted memory\n");
		return -ENODEV;
	}

	answer = hypercall(KVM_PVPERF_OP_QUERY, KVM_PVPERF_QUERY_ABI, 0, 0);
	if (answer < 0 || answer >> 16 != KVM_PVPERF_ABI_MAGIC ||
	    (answer & 0xffff) < KVM_PVPERF_ABI_VERSION) {
		pr_err("the host offers the paravirtual PMU but does not speak version %d of its ABI (answer %ld)\n",
		       KVM_PVPERF_ABI_VERSION, answer);
		return -ENODEV;
	}
	return 0;
}
