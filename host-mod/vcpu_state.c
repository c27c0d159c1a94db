// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "vcpu_state.h"

#include "kvm_symbols.h"

#include <compat/ftrace.h>
#include <linux/kvm_host.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/utsname.h>
#include <linux/workqueue.h>

/**
 * struct vm_state - a VM that has at least one vcpu_state
 * @node: in the set of all VMs, under the lock
 * @kvm: names the VM; never dereferenced
 * @vcpus: number of states that point here, under the lock
 * @complaints: bits of enum vm_complaint that have been logged
 */
struct vm_state {
	struct list_head node;
	struct kvm *kvm;
	unsigned int vcpus;
	unsigned long complaints;
};

/*
 * Protects the sets and the nodes in them.  Raw, since the death watch takes
 * it inside an ftrace callback, with preemption off.
 */
static DEFINE_RAW_SPINLOCK(sets_lock);
static LIST_HEAD(vcpu_states);
static LIST_HEAD(vm_states);

/* States whose vCPU is gone, waiting for a context that may sleep. */
static LIST_HEAD(dead_states);

static struct vcpu_state *find_locked(struct kvm_vcpu *vcpu)
{
	struct vcpu_state *state;

	list_for_each_entry(state, &vcpu_states, node)
		if (state->vcpu == vcpu)
			return state;
	return NULL;
}

static struct vm_state *find_vm_locked(struct kvm *kvm)
{
	struct vm_state *vm;

	list_for_each_entry(vm, &vm_states, node)
		if (vm->kvm == kvm)
			return vm;
	return NULL;
}

/* Called for @vcpu in its own thread: then it stays while the caller uses it. */
struct vcpu_state *vcpu_state_find(struct kvm_vcpu *vcpu)
{
	struct vcpu_state *state;
	unsigned long flags;

	raw_spin_lock_irqsave(&sets_lock, flags);
	state = find_locked(vcpu);
	raw_spin_unlock_irqrestore(&sets_lock, flags);
	return state;
}

static void drop_vm(struct vm_state *vm)
{
	unsigned long flags;
	bool is_unused;

	raw_spin_lock_irqsave(&sets_lock, flags);
	is_unused = !--vm->vcpus;
	if (is_unused)
		list_del(&vm->node);
	raw_spin_unlock_irqrestore(&sets_lock, flags);

	if (is_unused)
		kfree(vm);
}

/* For a state that is in no set. */
void vcpu_state_discard(struct vcpu_state *state)
{
	event_table_close_all(&state->events);
	put_task_struct(state->thread);
	drop_vm(state->vm);
	kfree(state);
}

/* Called for @vcpu in its own thread, which may sleep. */
void vcpu_state_forget(struct kvm_vcpu *vcpu)
{
	struct vcpu_state *state;
	unsigned long flags;

	raw_spin_lock_irqsave(&sets_lock, flags);
	state = find_locked(vcpu);
	if (state)
		list_del(&state->node);
	raw_spin_unlock_irqrestore(&sets_lock, flags);

	if (state)
		vcpu_state_discard(state);
}

static struct vm_state *get_vm(struct kvm *kvm)
{
	struct vm_state *vm, *new_vm;
	unsigned long flags;

	new_vm = kzalloc(sizeof(*new_vm), GFP_KERNEL_ACCOUNT);
	if (!new_vm)
		return NULL;

	raw_spin_lock_irqsave(&sets_lock, flags);
	vm = find_vm_locked(kvm);
	if (!vm) {
		vm = new_vm;
		new_vm = NULL;
		vm->kvm = kvm;
		list_add(&vm->node, &vm_states);
	}
	vm->vcpus++;
	raw_spin_unlock_irqrestore(&sets_lock, flags);

	kfree(new_vm);
	return vm;
}

/**
 * vcpu_state_alloc() - a state for a vCPU, not yet in use
 * @vcpu: the vCPU that the calling thread runs
 *
 * Charged to the VMM's memory control group.
 *
 * Return: the state, for vcpu_state_install() or vcpu_state_discard(); or NULL
 * without memory.
 */
struct vcpu_state *vcpu_state_alloc(struct kvm_vcpu *vcpu)
{
	struct vcpu_state *state;

	state = kzalloc(sizeof(*state), GFP_KERNEL_ACCOUNT);
	if (!state)
		return NULL;

	state->vm = get_vm(vcpu->kvm);
	if (!state->vm) {
		kfree(state);
		return NULL;
	}

	state->vcpu = vcpu;
	state->events.kvm = vcpu->kvm;
	state->thread = get_task_struct(current);
	return state;
}

/* Instead of what the vCPU has; called in its own thread. */
void vcpu_state_install(struct vcpu_state *state)
{
	unsigned long flags;

	vcpu_state_forget(state->vcpu);

	raw_spin_lock_irqsave(&sets_lock, flags);
	list_add(&state->node, &vcpu_states);
	raw_spin_unlock_irqrestore(&sets_lock, flags);
}

bool vcpu_state_may_complain(struct vcpu_state *state,
			     enum vm_complaint complaint)
{
	return !test_and_set_bit(complaint, &state->vm->complaints);
}

static void free_dead_states(struct work_struct *work)
{
	struct vcpu_state *state, *next;
	LIST_HEAD(batch);

	raw_spin_lock_irq(&sets_lock);
	list_splice_init(&dead_states, &batch);
	raw_spin_unlock_irq(&sets_lock);

	list_for_each_entry_safe(state, next, &batch, node)
		vcpu_state_discard(state);
}

static DECLARE_WORK(free_dead_states_work, free_dead_states);

static void bury(struct kvm *kvm, struct kvm_vcpu *vcpu)
{
	struct vcpu_state *state, *next;
	bool buried = false;
	unsigned long flags;

	raw_spin_lock_irqsave(&sets_lock, flags);
	list_for_each_entry_safe(state, next, &vcpu_states, node) {
		if (state->vcpu != vcpu && state->vm->kvm != kvm)
			continue;
		list_move(&state->node, &dead_states);
		buried = true;
	}
	raw_spin_unlock_irqrestore(&sets_lock, flags);

	if (buried)
		schedule_work(&free_dead_states_work);
}

/*
 * The death watch: an ftrace callback, preemption off, at the entry of the
 * functions by which KVM ends a vCPU and a VM.  A kprobe can be disarmed or
 * missed; this cannot: while it is registered, ftrace cannot be switched off.
 */
static notrace void vcpu_dies(unsigned long ip, unsigned long parent_ip,
			      struct ftrace_ops *ops,
			      struct compat_ftrace_regs *regs)
{
	bury(NULL, (struct kvm_vcpu *)compat_ftrace_pt_regs(regs)->di);
}

static notrace void vm_dies(unsigned long ip, unsigned long parent_ip,
			    struct ftrace_ops *ops,
			    struct compat_ftrace_regs *regs)
{
	bury((struct kvm *)compat_ftrace_pt_regs(regs)->di, NULL);
}

static struct death {
	const char *function;
	struct ftrace_ops ops;
} deaths[] = {
	{
		.function = "kvm_arch_vcpu_destroy",
		.ops = {
			.func = vcpu_dies,
			.flags = FTRACE_OPS_FL_SAVE_REGS |
				 FTRACE_OPS_FL_PERMANENT,
		},
	}, {
		.function = "kvm_destroy_vm",
		.ops = {
			.func = vm_dies,
			.flags = FTRACE_OPS_FL_SAVE_REGS |
				 FTRACE_OPS_FL_PERMANENT,
		},
	},
};

static int watch(struct death *death)
{
	unsigned long address = kvm_symbols_probe_address(death->function);
	int error;

	if (!address) {
		pr_err("KVM of kernel %s has no function %s\n",
		       init_utsname()->release, death->function);
		return -ENOENT;
	}

	error = ftrace_set_filter_ip(&death->ops, address, 0, 0);
	if (!error)
		error = register_ftrace_function(&death->ops);
	if (error)
		pr_err("cannot watch %s: error %d\n", death->function, error);
	return error;
}

static void unwatch_first(unsigned int count)
{
	while (count--) {
		unregister_ftrace_function(&deaths[count].ops);
		compat_ftrace_free_filter(&deaths[count].ops);
	}
}

int vcpu_state_watch_deaths(void)
{
	unsigned int i;
	int error;

	for (i = 0; i < ARRAY_SIZE(deaths); i++) {
		error = watch(&deaths[i]);
		if (error) {
			compat_ftrace_free_filter(&deaths[i].ops);
			unwatch_first(i);
			return error;
		}
	}
	return 0;
}

void vcpu_state_unwatch_deaths(void)
{
	unwatch_first(ARRAY_SIZE(deaths));
}

/* Only once no hypercall and no death can reach a state any more. */
void vcpu_state_free_all(void)
{
	raw_spin_lock_irq(&sets_lock);
	list_splice_init(&vcpu_states, &dead_states);
	raw_spin_unlock_irq(&sets_lock);

	schedule_work(&free_dead_states_work);
	flush_work(&free_dead_states_work);
}
