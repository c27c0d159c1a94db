/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_RCU_TASKS_H
#define _COMPAT_RCU_TASKS_H

#include <linux/rcupdate.h>

/* Debian's 5.10 is built without CONFIG_TASKS_RCU. */
static inline void compat_synchronize_rcu_tasks(void)
{
#ifdef CONFIG_TASKS_RCU
	synchronize_rcu_tasks();
#else
	synchronize_rcu_tasks_rude();
#endif
}

#endif
