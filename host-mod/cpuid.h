/* SPDX-License-Identifier: GPL-2.0 */
/* The feature bit, and who has it. */
#ifndef _HOST_MOD_CPUID_H
#define _HOST_MOD_CPUID_H

#include <linux/types.h>

struct kvm_vcpu;

bool cpuid_vcpu_has_feature(struct kvm_vcpu *vcpu);
int cpuid_arm(void);
void cpuid_offer(void);
void cpuid_disarm(void);
int cpuid_print(char *buffer, size_t size);

#endif
