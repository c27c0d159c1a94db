/* SPDX-License-Identifier: GPL-2.0 */
/* The perf hypercall: what a guest asks, checked and served. */
#ifndef _HOST_MOD_HYPERCALL_H
#define _HOST_MOD_HYPERCALL_H

#include <linux/types.h>

struct kvm_vcpu;

bool hypercall_is_ours(struct kvm_vcpu *vcpu);
int hypercall_emulate(struct kvm_vcpu *vcpu);

#endif
