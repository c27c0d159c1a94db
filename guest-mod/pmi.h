/* SPDX-License-Identifier: GPL-2.0 */
/* The interrupt by which the host tells of overflows. */
#ifndef _GUEST_MOD_PMI_H
#define _GUEST_MOD_PMI_H

#include <linux/types.h>

struct pt_regs;

int pmi_register(bool (*handler)(struct pt_regs *regs));
void pmi_unregister(void);
void pmi_expect(void);
void pmi_unmask(void);
void pmi_mask(void);
void pmi_forget_cpu(unsigned int cpu);

#endif
