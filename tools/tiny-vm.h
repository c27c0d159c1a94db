/* SPDX-License-Identifier: GPL-2.0 */
/* A VM of one vCPU without a kernel, which has its instructions counted. */
#ifndef KVM_PVPERF_TOOLS_TINY_VM_H
#define KVM_PVPERF_TOOLS_TINY_VM_H

#include <stdbool.h>
#include <stdint.h>

#define TINY_VM_INSTRUCTIONS	20000000ULL
#define TINY_VM_PERIOD		1000000ULL

/**
 * struct tiny_vm - what came of it
 * @has_bit: CPUID offers the feature
 * @abi: result of QUERY_ABI, and of the other queries:
 * @slots: slots of a vCPU
 * @capabilities: KVM_PVPERF_CAP_*
 * @error: of the first hypercall that failed, negative; or 0
 * @state: KVM_PVPERF_STATE_* of the event while it ran
 * @count: what was counted for TINY_VM_INSTRUCTIONS
 * @count_of_twice: and for twice as many
 * @overflows: with TINY_VM_PERIOD, for TINY_VM_INSTRUCTIONS
 * @has_pmi: an NMI has come by then
 */
struct tiny_vm {
	bool has_bit;
	int64_t abi;
	int64_t slots;
	int64_t capabilities;
	int64_t error;
	uint32_t state;
	uint64_t count;
	uint64_t count_of_twice;
	uint32_t overflows;
	bool has_pmi;
};

/* Ends the program with a message if there is no VM to be had. */
struct tiny_vm tiny_vm_run(void);

#endif
