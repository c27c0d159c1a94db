/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_MEMORY_ENCRYPTION_H
#define _COMPAT_MEMORY_ENCRYPTION_H

#include <linux/version.h>

/* Is this guest's memory hidden from its host? */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 16, 0)
/* 5.16, "x86/sev: Add an x86 version of cc_platform_has()" and its series */
#include <linux/cc_platform.h>

static inline bool compat_guest_memory_is_encrypted(void)
{
	return cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT);
}
#else
#include <linux/mem_encrypt.h>

static inline bool compat_guest_memory_is_encrypted(void)
{
	return mem_encrypt_active();
}
#endif

#endif
