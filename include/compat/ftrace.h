/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_FTRACE_H
#define _COMPAT_FTRACE_H

#include <linux/ftrace.h>
#include <linux/version.h>

/* 5.11, "ftrace: Have the callbacks receive a struct ftrace_regs instead of pt_regs" */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
#define compat_ftrace_regs ftrace_regs

static inline struct pt_regs *
compat_ftrace_pt_regs(struct compat_ftrace_regs *regs)
{
	return ftrace_get_regs(regs);
}
#else
#define compat_ftrace_regs pt_regs

static inline struct pt_regs *
compat_ftrace_pt_regs(struct compat_ftrace_regs *regs)
{
	return regs;
}
#endif

/* 6.0, "ftrace: Export ftrace_free_filter() to modules"; before, the hash leaks. */
static inline void compat_ftrace_free_filter(struct ftrace_ops *ops)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 0, 0)
	ftrace_free_filter(ops);
#endif
}

#endif
