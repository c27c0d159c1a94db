/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What several test programs need.
 */
#ifndef KVM_PVPERF_TESTS_COMMON_H
#define KVM_PVPERF_TESTS_COMMON_H

/* The port whose writes the test PMU counts. */
#define EXACT_PORT	0x5e0

#ifndef __ASSEMBLER__

#include <stdint.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* The guest's test module; tests/guest-module/ says what it does. */
#define GUEST_DEVICE	"/dev/kvm-pvperf-test"

/* A decimal number in [minimum, maximum]; ends the program otherwise. */
uint64_t parse_number(const char *text, uint64_t minimum, uint64_t maximum,
		      const char *what);

/*
 * Lets the calling thread, and the threads and children that it creates from
 * now on, write to the port in user mode.
 */
void allow_exact_port(void);

/* Writes @count times to the port. */
void write_exact_port(uint64_t count);

/* Writes to it once, in exact-write.S. */
void exact_write(void);

/*
 * Not to be called: its address is that of the instruction behind the one that
 * writes to the port, where a sample of that write belongs.
 */
extern const char after_exact_write[];

/* For the next two. */
int open_guest_device(void);

/* Has the guest's test module write @count times to the port. */
void write_exact_port_in_kernel(int device, uint64_t count);

/* Has it execute its planted function @units times. */
void spin_in_kernel(int device, uint64_t units);

/* The @n-th, from 0, of the CPUs that the calling thread may run on. */
int usable_cpu(int n);

/* Makes the calling thread run on @cpu only. */
void pin_to_cpu(int cpu);

/*
 * Prints "ready PHASE" and waits for a line on standard input, so that a script
 * can look at the host between phases; ends the program at end of file.
 */
void gate(const char *phase);

/* Nothing but real-time tasks interrupts the calling thread from now on. */
void use_fifo_scheduling(void);

/* How often the calling thread has been switched away from. */
uint64_t switches_so_far(void);

#endif /* __ASSEMBLER__ */

#endif
