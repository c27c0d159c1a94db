/* SPDX-License-Identifier: GPL-2.0 */
/* A slow timer on each CPU that has events, as docs/abi.md asks for. */
#ifndef _GUEST_MOD_HOST_CHECK_H
#define _GUEST_MOD_HOST_CHECK_H

#include <linux/types.h>

void host_check_init(void (*check_function)(void));
void host_check_start(void);
void host_check_start_within(u64 nanoseconds);
void host_check_cancel(unsigned int cpu);
void host_check_exit(void);

#endif
