/* SPDX-License-Identifier: GPL-2.0 */
/* CPUs that come and go. */
#ifndef _GUEST_MOD_CPUS_H
#define _GUEST_MOD_CPUS_H

int cpus_watch(void);
void cpus_unwatch(void);

#endif
