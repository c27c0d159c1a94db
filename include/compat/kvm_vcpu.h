/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a vCPU is doing, from fields that have moved between releases.  All of
 * these are for the vCPU's own thread.
 */
#ifndef _COMPAT_KVM_VCPU_H
#define _COMPAT_KVM_VCPU_H

#include <linux/kvm_host.h>
#include <linux/version.h>

static inline bool compat_kvm_vcpu_runs_nested_guest(struct kvm_vcpu *vcpu)
{
	return vcpu->arch.hflags & HF_GUEST_MASK;
}

static inline bool compat_kvm_vcpu_state_is_encrypted(struct kvm_vcpu *vcpu)
{
/* 5.11, "KVM: SVM: Add support for SEV-ES capability in KVM" and its series */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
	return vcpu->arch.guest_state_protected;
#else
	return false;
#endif
}

/* The guest has made itself known to Hyper-V's interface, so calls are its. */
static inline bool compat_kvm_has_hyperv_hypercalls(struct kvm *kvm)
{
/* 6.8, "KVM: x86: Make Hyper-V emulation optional" */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0) && !defined(CONFIG_KVM_HYPERV)
	return false;
#else
	return kvm->arch.hyperv.hv_guest_os_id;
#endif
}

static inline bool compat_kvm_has_xen_hypercalls(struct kvm *kvm)
{
/*
 * 5.12, "KVM: x86/xen: intercept xen hypercalls if enabled"
 * 6.15, "KVM: x86/xen: Move kvm_xen_hvm_config field into kvm_xen"
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 12, 0)
	return false;
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	return kvm->arch.xen_hvm_config.flags &
	       KVM_XEN_HVM_CONFIG_INTERCEPT_HCALL;
#elif defined(CONFIG_KVM_XEN)
	return kvm->arch.xen.hvm_config.flags &
	       KVM_XEN_HVM_CONFIG_INTERCEPT_HCALL;
#else
	return false;
#endif
}

static inline void compat_kvm_count_hypercall(struct kvm_vcpu *vcpu)
{
	++vcpu->stat.hypercalls;
}

#endif
