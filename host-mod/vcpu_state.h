/* SPDX-License-Identifier: GPL-2.0 */
/* Life and death of what this module keeps for a vCPU and its VM. */
#ifndef _HOST_MOD_VCPU_STATE_H
#define _HOST_MOD_VCPU_STATE_H

#include "event_table.h"
#include "pmi.h"

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

struct kvm;
struct kvm_vcpu;
struct task_struct;
struct vm_state;

/**
 * struct vcpu_state - a vCPU whose guest has set up an area
 * @node: in the table of all states, under its lock
 * @of_vm: in the list of the VM's states, or of the dead, under the same lock
 * @rcu: lookups may still look at @node and @vcpu
 * @vcpu: names the vCPU; not to be dereferenced except by its own thread
 * @vm: what its VM has in common
 * @thread: the thread that set up: the events are that thread's
 * @area: guest physical address of the area
 * @slots: number of usable slots
 * @sequence: what the next operation on a set must pass
 * @pmi: tells the vCPU of overflows
 * @events: the event ids
 * @requests: the guest's halves of the slots, as copied by this operation
 *
 * All from @area on is used by the vCPU's own thread only, inside a hypercall,
 * until the state is taken out of the table; @pmi has its own rules.
 */
struct vcpu_state {
	struct hlist_node node;
	struct list_head of_vm;
	struct rcu_head rcu;
	struct kvm_vcpu *vcpu;
	struct vm_state *vm;
	struct task_struct *thread;
	u64 area;
	u32 slots;
	u32 sequence;
	struct pmi pmi;
	struct event_table events;
	struct kvm_pvperf_request requests[KVM_PVPERF_SLOTS];
};

/* What is logged once per VM, whatever its guest does. */
enum vm_complaint {
	VM_COMPLAINT_DENIED,
	VM_COMPLAINT_LIMIT,
};

struct vcpu_state *vcpu_state_find(struct kvm_vcpu *vcpu);
struct vcpu_state *vcpu_state_alloc(struct kvm_vcpu *vcpu);
void vcpu_state_install(struct vcpu_state *state);
void vcpu_state_discard(struct vcpu_state *state);
void vcpu_state_forget(struct kvm_vcpu *vcpu);
bool vcpu_state_may_complain(struct kvm_vcpu *vcpu,
			     enum vm_complaint complaint);

int vcpu_state_watch_deaths(void);
void vcpu_state_unwatch_deaths(void);
void vcpu_state_free_all(void);

#endif
