/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_SUPPORTED_H
#define _COMPAT_SUPPORTED_H

#include <linux/version.h>

/* 5.10 brought static calls, on which every call into KVM rests. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 10, 0)
#error "kvm_pvperf needs Linux 5.10 or later"
#endif

#endif
