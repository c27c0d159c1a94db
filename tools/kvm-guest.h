/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tiny KVM guest, for tests and tools that need full control of its registers.
 *
 * Memory starts at guest physical address 0 and is mapped one to one.  The
 * first KVM_GUEST_FREE bytes are the library's own, the rest is the caller's.
 * Any failure that is not the subject of a test ends the program with a
 * message: what these functions return is always the guest's own answer.
 */
#ifndef KVM_PVPERF_TESTS_KVM_GUEST_H
#define KVM_PVPERF_TESTS_KVM_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KVM_GUEST_MEMORY	(8UL << 20)
#define KVM_GUEST_FREE		(1UL << 20)
#define KVM_GUEST_MAX_VCPUS	8

/* With a local APIC in the kernel. */
#define KVM_GUEST_IRQCHIP	(1U << 0)

struct kvm_cpuid2;
struct kvm_guest;
struct kvm_guest_vcpu;

struct kvm_guest_cpuid {
	uint32_t eax, ebx, ecx, edx;
};

/* A new VM without vCPUs.  @flags: KVM_GUEST_*. */
struct kvm_guest *kvm_guest_create(unsigned int flags);

/* Ends the VM: every file descriptor is closed and all memory is freed. */
void kvm_guest_destroy(struct kvm_guest *guest);

/*
 * What the next vCPUs get: at first all that KVM says it supports.  The test may
 * change it.
 */
struct kvm_cpuid2 *kvm_guest_vcpus_cpuid(struct kvm_guest *guest);

/* A new vCPU, in 64-bit mode at CPL 0, with kvm_guest_vcpus_cpuid(). */
struct kvm_guest_vcpu *kvm_guest_add_vcpu(struct kvm_guest *guest);

/* Modes of the CPU by their number of bits, and two that have no such number. */
enum kvm_guest_mode {
	KVM_GUEST_REAL_MODE	= 0,
	KVM_GUEST_16_BIT	= 16,
	KVM_GUEST_32_BIT	= 32,
	KVM_GUEST_COMPATIBILITY	= 33,
	KVM_GUEST_64_BIT	= 64,
};

/*
 * @mode: enum kvm_guest_mode; @cpl: 0 to 3, real mode has only 0.  Holds for what the
 * vCPU executes from now.
 */
void kvm_guest_set_mode(struct kvm_guest_vcpu *vcpu, int mode, int cpl);

/* Where the test finds guest memory; ends the program if it is outside. */
void *kvm_guest_memory(struct kvm_guest *guest, uint64_t gpa, size_t size);

/*
 * Makes the caller's part of memory read-only to guest and kernel, or writable
 * again.  The test itself can still write there.
 */
void kvm_guest_forbid_writes(struct kvm_guest *guest, bool forbid);

/* Takes that part of memory away, or gives it back with what was in it. */
void kvm_guest_take_memory(struct kvm_guest *guest, bool take);

/* File descriptors, for what this library does not wrap. */
int kvm_guest_kvm_fd(const struct kvm_guest *guest);
int kvm_guest_fd(const struct kvm_guest *guest);
int kvm_guest_vcpu_fd(const struct kvm_guest_vcpu *vcpu);

/*
 * Executes a hypercall instruction with these registers and returns RAX.  The
 * program ends if another register has changed.
 */
uint64_t kvm_guest_hypercall(struct kvm_guest_vcpu *vcpu, uint64_t nr,
			     uint64_t rbx, uint64_t rcx, uint64_t rdx,
			     uint64_t rsi);

/*
 * The same, where the VMM may have to serve the hypercall.  Returns the reason of
 * the first exit, KVM_EXIT_IO if KVM has served it, with RAX in *@result; the VMM
 * serves it with a result of 0.
 */
uint32_t kvm_guest_hypercall_exit(struct kvm_guest_vcpu *vcpu, uint64_t nr,
				  uint64_t rbx, uint64_t rcx, uint64_t rdx,
				  uint64_t rsi, uint64_t *result);

/* Executes CPUID. */
struct kvm_guest_cpuid kvm_guest_cpuid(struct kvm_guest_vcpu *vcpu,
				       uint32_t leaf, uint32_t subleaf);

/* Executes OUT to @port @count times; @size is 1, 2 or 4 bytes. */
void kvm_guest_port_writes(struct kvm_guest_vcpu *vcpu, uint16_t port,
			   int size, uint32_t count);

/* Executes REP OUTSB to @port with @count elements. */
void kvm_guest_port_string(struct kvm_guest_vcpu *vcpu, uint16_t port,
			   uint32_t count);

/* Executes @iterations of an empty loop. */
void kvm_guest_spin(struct kvm_guest_vcpu *vcpu, uint64_t iterations);

#endif
