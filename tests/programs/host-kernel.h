/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What test programs need of the host's kernel.
 */
#ifndef KVM_PVPERF_TESTS_HOST_KERNEL_H
#define KVM_PVPERF_TESTS_HOST_KERNEL_H

#include <stdint.h>

#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

/*
 * Samples per second from which on perf throttles an event.  Setting it ends the
 * program if the kernel does not accept that.
 */
uint64_t sample_rate(void);
void set_sample_rate(uint64_t rate);

/* Nanoseconds, by CLOCK_MONOTONIC. */
uint64_t now(void);

/* Keeps the CPU busy for so long. */
void spin(uint64_t nsec);

#endif
