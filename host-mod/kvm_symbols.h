/* SPDX-License-Identifier: GPL-2.0 */
/* Everything that is taken from KVM, resolved at load. */
#ifndef _HOST_MOD_KVM_SYMBOLS_H
#define _HOST_MOD_KVM_SYMBOLS_H

#include <linux/kvm_host.h>
#include <linux/static_call.h>

/* Some releases declare these in public headers, and others in arch/x86/kvm/. */
int kvm_skip_emulated_instruction(struct kvm_vcpu *vcpu);
void kvm_get_segment(struct kvm_vcpu *vcpu, struct kvm_segment *var, int seg);
void kvm_pmu_deliver_pmi(struct kvm_vcpu *vcpu);
int kvm_dev_ioctl_get_cpuid(struct kvm_cpuid2 *cpuid,
			    struct kvm_cpuid_entry2 __user *entries,
			    unsigned int type);

/*
 * Static calls, for two reasons: their type comes from KVM's own prototype, where
 * that is public, and they are patched into direct calls.  Functions that KVM does
 * not export have no ENDBR on kernels with IBT, so a call through a pointer would be
 * fatal there.
 */
DECLARE_STATIC_CALL(call_kvm_vcpu_read_guest, kvm_vcpu_read_guest);
DECLARE_STATIC_CALL(call_kvm_vcpu_write_guest, kvm_vcpu_write_guest);
DECLARE_STATIC_CALL(call_kvm_skip_emulated_instruction,
		    kvm_skip_emulated_instruction);
DECLARE_STATIC_CALL(call_kvm_get_segment, kvm_get_segment);
DECLARE_STATIC_CALL(call_kvm_get_running_vcpu, kvm_get_running_vcpu);
DECLARE_STATIC_CALL(call_kvm_pmu_deliver_pmi, kvm_pmu_deliver_pmi);
DECLARE_STATIC_CALL(call_kvm_dev_ioctl_get_cpuid, kvm_dev_ioctl_get_cpuid);

/* Optional: without it, guests cannot sample. */
bool kvm_symbols_can_deliver_pmi(void);

/* Optional: without it, VMMs are not told of the bit. */
bool kvm_symbols_can_get_supported_cpuid(void);

/* Entry of a KVM function that is watched, not called: 0 if there is none. */
unsigned long kvm_symbols_probe_address(const char *name);

int kvm_symbols_resolve(void);
void kvm_symbols_release(void);

#endif
