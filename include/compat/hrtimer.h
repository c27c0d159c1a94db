/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_HRTIMER_H
#define _COMPAT_HRTIMER_H

#include <linux/hrtimer.h>
#include <linux/version.h>

/* 6.13, "hrtimers: Introduce hrtimer_setup() to replace hrtimer_init()" */
static inline void
compat_hrtimer_setup(struct hrtimer *timer,
		     enum hrtimer_restart (*function)(struct hrtimer *),
		     clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

#endif
