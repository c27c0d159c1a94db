// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "hypercall.h"

#include <asm/asm.h>
#include <asm/cpufeature.h>
#include <linux/compiler.h>
#include <uapi/linux/kvm_pvperf.h>

/*
 * On the other vendor's instruction the CPU raises #UD, which KVM may catch in
 * order to rewrite the instruction; the kernel's text is read-only, so that
 * ends as a #PF here.  Either way the exception table continues after the
 * instruction, with @faulted still set and no register changed.
 */
#define HYPERCALL(instruction)						\
	asm volatile("mov $1, %[faulted]\n"				\
		     "1:\t" instruction "\n"				\
		     "\txor %[faulted], %[faulted]\n"			\
		     "2:\n"						\
		     _ASM_EXTABLE(1b, 2b)				\
		     : "=a" (result), [faulted] "=&r" (faulted)		\
		     : "0" ((unsigned long)KVM_PVPERF_HYPERCALL),	\
		       "b" ((unsigned long)operation),			\
		       "c" ((unsigned long)first),			\
		       "d" ((unsigned long)second),			\
		       "S" ((unsigned long)third)			\
		     : "memory", "cc")

static bool vmmcall(u32 operation, u32 first, u32 second, u32 third,
		    long *returned)
{
	unsigned long faulted;
	long result;

	HYPERCALL("vmmcall");
	*returned = result;
	return !faulted;
}

static bool vmcall(u32 operation, u32 first, u32 second, u32 third,
		   long *returned)
{
	unsigned long faulted;
	long result;

	HYPERCALL("vmcall");
	*returned = result;
	return !faulted;
}

/* Which one worked last.  Any CPU may change it: a wrong value costs a fault. */
static enum { UNKNOWN, VMMCALL, VMCALL } instruction;

static bool is_vmcall_first(void)
{
	switch (READ_ONCE(instruction)) {
	case VMMCALL:
		return false;
	case VMCALL:
		return true;
	default:
		return !boot_cpu_has(X86_FEATURE_VMMCALL);
	}
}

/**
 * hypercall() - ask the host
 * @operation: enum kvm_pvperf_op
 * @first: in ECX
 * @second: in EDX
 * @third: in ESI
 *
 * Works in any context, NMI included.  A live migration may have changed the
 * CPU's vendor since the last call.
 *
 * Return: the host's answer; -KVM_PVPERF_ENOSYS on a CPU that knows neither
 * instruction.
 */
long hypercall(u32 operation, u32 first, u32 second, u32 third)
{
	bool vmcall_first = is_vmcall_first();
	long result;

	if (vmcall_first && vmcall(operation, first, second, third, &result)) {
		WRITE_ONCE(instruction, VMCALL);
		return result;
	}
	if (vmmcall(operation, first, second, third, &result)) {
		WRITE_ONCE(instruction, VMMCALL);
		return result;
	}
	if (!vmcall_first && vmcall(operation, first, second, third, &result)) {
		WRITE_ONCE(instruction, VMCALL);
		return result;
	}
	return -KVM_PVPERF_ENOSYS;
}
