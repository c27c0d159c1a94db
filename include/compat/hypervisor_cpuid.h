/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_HYPERVISOR_CPUID_H
#define _COMPAT_HYPERVISOR_CPUID_H

#include <linux/version.h>

/* 6.16 gathered what handles CPUID in <asm/cpuid/api.h> and renamed it. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#include <asm/cpuid/api.h>
#define compat_hypervisor_cpuid_base cpuid_base_hypervisor
#else
#include <asm/processor.h>
#define compat_hypervisor_cpuid_base hypervisor_cpuid_base
#endif

#endif
