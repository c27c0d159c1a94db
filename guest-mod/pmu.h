/* SPDX-License-Identifier: GPL-2.0 */
/* The PMU that the guest's perf core sees. */
#ifndef _GUEST_MOD_PMU_H
#define _GUEST_MOD_PMU_H

int pmu_register(void);
void pmu_unregister(void);

#endif
