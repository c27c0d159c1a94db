// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "pmi.h"

#include <asm/apic.h>
#include <asm/nmi.h>
#include <linux/percpu.h>

static bool (*handle_overflow)(struct pt_regs *regs);

/* This CPU's LVTPC leads here. */
static DEFINE_PER_CPU(bool, is_expected);

/*
 * By the driver itself: from 6.12 on apic_write() is a static call that modules
 * cannot use.
 *
 * Before the host is asked what has overflowed: the local APIC may have masked it
 * when it delivered the last one, and what comes while it is masked is lost.
 */
void pmi_unmask(void)
{
	apic->write(APIC_LVTPC, APIC_DM_NMI);
}

/* Until the host can be asked, one PMI is as good as many. */
void pmi_mask(void)
{
	apic->write(APIC_LVTPC, APIC_DM_NMI | APIC_LVT_MASKED);
}

/* Before a sampling event starts on this CPU. */
void pmi_expect(void)
{
	if (this_cpu_read(is_expected))
		return;
	pmi_unmask();
	this_cpu_write(is_expected, true);
}

/* A CPU comes up with an LVTPC that leads nowhere. */
void pmi_forget_cpu(unsigned int cpu)
{
	per_cpu(is_expected, cpu) = false;
}

static int handle_nmi(unsigned int type, struct pt_regs *regs)
{
	return this_cpu_read(is_expected) && handle_overflow(regs) ?
		NMI_HANDLED : NMI_DONE;
}

/**
 * pmi_register() - from now on, have overflows handled
 * @handler: called in NMI context; false if the NMI is somebody else's
 *
 * Return: 0 or an error.
 */
int pmi_register(bool (*handler)(struct pt_regs *regs))
{
	handle_overflow = handler;
	return register_nmi_handler(NMI_LOCAL, handle_nmi, 0, "kvm_pvperf");
}

void pmi_unregister(void)
{
	unregister_nmi_handler(NMI_LOCAL, "kvm_pvperf");
}
