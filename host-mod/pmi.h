/* SPDX-License-Identifier: GPL-2.0 */
/* Tells a vCPU of an overflow, by the LVTPC of its local APIC. */
#ifndef _HOST_MOD_PMI_H
#define _HOST_MOD_PMI_H

#include <linux/irq_work.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct kvm_vcpu;

/**
 * struct pmi - how one vCPU is told
 * @work: delivers what the vCPU's own loop may not see in time
 * @lock: while it is held, the vCPU does not end
 * @vcpu: NULL once the vCPU has begun to end
 * @flags: PMI_IS_OWED
 */
struct pmi {
	struct irq_work work;
	raw_spinlock_t lock;
	struct kvm_vcpu *vcpu;
	unsigned long flags;
};

bool pmi_is_possible(struct kvm_vcpu *vcpu);
void pmi_init(struct pmi *pmi, struct kvm_vcpu *vcpu);
void pmi_raise(struct pmi *pmi);
void pmi_forget_vcpu(struct pmi *pmi);
void pmi_finish(struct pmi *pmi);

#endif
