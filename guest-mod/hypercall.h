/* SPDX-License-Identifier: GPL-2.0 */
/* The hypercall instruction, whichever the CPU has today. */
#ifndef _GUEST_MOD_HYPERCALL_H
#define _GUEST_MOD_HYPERCALL_H

#include <linux/types.h>

long hypercall(u32 operation, u32 first, u32 second, u32 third);

#endif
