// SPDX-License-Identifier: GPL-2.0
/*
 * KVM delivers a PMI before it enters the guest, if KVM_REQ_PMI is set.  That
 * is enough for an overflow that made the guest exit.  It is late for one that
 * comes after KVM's last look at its requests, and for one of a vCPU on its way
 * to, or in, HLT: so an irq_work follows, which interrupts the entry, or delivers
 * the PMI itself.
 */
#include "log.h"
#include "pmi.h"

#include "kvm_symbols.h"

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/kvm_host.h>
#include <linux/module.h>

/* Bit of struct pmi's flags: the request could not be made in NMI context. */
#define PMI_IS_OWED	0

bool pmi_is_possible(struct kvm_vcpu *vcpu)
{
	return vcpu->arch.apic && kvm_symbols_can_deliver_pmi();
}

/*
 * Once this module begins to go, guests are told that nobody serves them, and
 * regard no NMI as a PMI any more; but the events are there until they are freed.
 */
static bool is_wanted(void)
{
	return module_is_live(THIS_MODULE);
}

static bool take_request(struct pmi *pmi, struct kvm_vcpu *vcpu)
{
	bool is_owed = test_and_clear_bit(PMI_IS_OWED, &pmi->flags);
	bool is_requested = test_and_clear_bit(KVM_REQ_PMI & KVM_REQUEST_MASK,
					       (void *)&vcpu->requests);

	return is_owed || is_requested;
}

/*
 * Interrupt context.  The vCPU may take the request at the same moment, on this
 * CPU or another: then the guest gets two PMIs for one overflow, which it must
 * expect, but never none.
 */
static void deliver(struct irq_work *work)
{
	struct pmi *pmi = container_of(work, struct pmi, work);
	unsigned long flags;

	raw_spin_lock_irqsave(&pmi->lock, flags);
	if (pmi->vcpu && is_wanted() && take_request(pmi, pmi->vcpu))
		static_call(call_kvm_pmu_deliver_pmi)(pmi->vcpu);
	raw_spin_unlock_irqrestore(&pmi->lock, flags);
}

void pmi_init(struct pmi *pmi, struct kvm_vcpu *vcpu)
{
	init_irq_work(&pmi->work, deliver);
	raw_spin_lock_init(&pmi->lock);
	pmi->vcpu = vcpu;
}

/*
 * Any context, NMI included, so no lock: a vCPU that runs on this CPU cannot be
 * ending.  Any other is left to the irq_work.
 */
void pmi_raise(struct pmi *pmi)
{
	struct kvm_vcpu *running;

	if (!is_wanted())
		return;

	running = static_call(call_kvm_get_running_vcpu)();
	if (running && running == READ_ONCE(pmi->vcpu))
		kvm_make_request(KVM_REQ_PMI, running);
	else
		set_bit(PMI_IS_OWED, &pmi->flags);
	irq_work_queue(&pmi->work);
}

/* Interrupts off.  The vCPU begins to end, or has nothing open any more. */
void pmi_forget_vcpu(struct pmi *pmi)
{
	raw_spin_lock(&pmi->lock);
	WRITE_ONCE(pmi->vcpu, NULL);
	raw_spin_unlock(&pmi->lock);
}

/* Process context, once nothing raises it any more. */
void pmi_finish(struct pmi *pmi)
{
	irq_work_sync(&pmi->work);
}
