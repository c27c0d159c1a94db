/* SPDX-License-Identifier: GPL-2.0 */
/* To be included before anything else, so that every line names the module. */
#ifndef _GUEST_MOD_LOG_H
#define _GUEST_MOD_LOG_H

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/printk.h>

#endif
