// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "vcpu_state.h"

#include "kvm_symbols.h"

#include <compat/ftrace.h>
#include <linux/hashtable.h>
#include <linux/kvm_host.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/utsname.h>
#include <linux/workqueue.h>

/**
 * struct vm_state - a VM whose guest has made itself known
 * @node: in the table of all VMs until the VM dies, under the lock
 * @dead: in the list of the dead after that, under the lock
 * @kvm: names the VM; never dereferenced
 * @states: those of its vCPUs, under the lock
 * @references: the states that point here, and the VM while it lives
 * @complaints: bits of enum vm_complaint that have been logged
 */
struct vm_state {
	struct hlist_node node;
	struct list_head dead;
	struct kvm *kvm;
	struct list_head states;
	refcount_t references;
	unsigned long complaints;
};

/*
 * Taken for coming and going only, never to look up: guests make hypercalls as
 * often as they like, and must not make others wait.  Raw, since the death
 * watch takes it inside an ftrace callback, which may not sleep.
 */
static DEFINE_RAW_SPINLOCK(tables_lock);
static DEFINE_HASHTABLE(vcpu_states, 10);
static DEFINE_HASHTABLE(vm_states, 8);

/* What is to be freed in a context that may sleep. */
static LIST_HEAD(dead_states);
static LIST_HEAD(dead_vms);

/*
 * Called for @vcpu in its own thread: nothing but that thread and the vCPU's
 * death take its state out of the table, so it stays while the caller uses it.
 */
struct vcpu_state *vcpu_state_find(struct kvm_vcpu *vcpu)
{
	struct vcpu_state *state, *found = NULL;

	rcu_read_lock();
	hash_for_each_possible_rcu(vcpu_states, state, node,
				   (unsigned long)vcpu) {
		if (state->vcpu == vcpu) {
			found = state;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

static struct vm_state *find_vm_locked(struct kvm *kvm)
{
	struct vm_state *vm;

	hash_for_each_possible(vm_states, vm, node, (unsigned long)kvm)
		if (vm->kvm == kvm)
			return vm;
	return NULL;
}

static void put_vm(struct vm_state *vm)
{
	if (refcount_dec_and_test(&vm->references))
		kfree(vm);
}

/* Finds or makes what stands for a VM; put_vm() it.  NULL without memory. */
static struct vm_state *get_vm(struct kvm *kvm)
{
	struct vm_state *vm, *new_vm;
	unsigned long flags;

	new_vm = kzalloc(sizeof(*new_vm), GFP_KERNEL_ACCOUNT);
	if (!new_vm)
		return NULL;
	INIT_LIST_HEAD(&new_vm->states);
	refcount_set(&new_vm->references, 1);
	new_vm->kvm = kvm;

	raw_spin_lock_irqsave(&tables_lock, flags);
	vm = find_vm_locked(kvm);
	if (!vm) {
		vm = new_vm;
		new_vm = NULL;
		hash_add(vm_states, &vm->node, (unsigned long)kvm);
	}
	refcount_inc(&vm->references);
	raw_spin_unlock_irqrestore(&tables_lock, flags);

	kfree(new_vm);
	return vm;
}

/* For a state that is in no table. */
void vcpu_state_discard(struct vcpu_state *state)
{
	event_table_close_all(&state->events);
	pmi_finish(&state->pmi);
	put_task_struct(state->thread);
	put_vm(state->vm);
	kfree_rcu(state, rcu);
}

/* Called for @vcpu in its own thread, which may sleep. */
void vcpu_state_forget(struct kvm_vcpu *vcpu)
{
	struct vcpu_state *state = vcpu_state_find(vcpu);
	unsigned long flags;

	if (!state)
		return;

	raw_spin_lock_irqsave(&tables_lock, flags);
	hash_del_rcu(&state->node);
	list_del(&state->of_vm);
	pmi_forget_vcpu(&state->pmi);
	raw_spin_unlock_irqrestore(&tables_lock, flags);

	vcpu_state_discard(state);
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
	pmi_init(&state->pmi, vcpu);
	state->events.vcpu = vcpu;
	state->events.pmi = &state->pmi;
	state->thread = get_task_struct(current);
	return state;
}

/* Instead of what the vCPU has; called in its own thread. */
void vcpu_state_install(struct vcpu_state *state)
{
	unsigned long flags;

	vcpu_state_forget(state->vcpu);

	raw_spin_lock_irqsave(&tables_lock, flags);
	hash_add_rcu(vcpu_states, &state->node, (unsigned long)state->vcpu);
	list_add(&state->of_vm, &state->vm->states);
	raw_spin_unlock_irqrestore(&tables_lock, flags);
}

/* Once per VM and cause, until the VM's end, whatever its guest does meanwhile. */
bool vcpu_state_may_complain(struct kvm_vcpu *vcpu,
			     enum vm_complaint complaint)
{
	struct vm_state *vm = get_vm(vcpu->kvm);
	bool is_first;

	if (!vm)
		return false;

	is_first = !test_and_set_bit(complaint, &vm->complaints);
	put_vm(vm);
	return is_first;
}

static void free_dead(struct work_struct *work)
{
	struct vcpu_state *state, *next_state;
	struct vm_state *vm, *next_vm;
	LIST_HEAD(states);
	LIST_HEAD(vms);

	raw_spin_lock_irq(&tables_lock);
	list_splice_init(&dead_states, &states);
	list_splice_init(&dead_vms, &vms);
	raw_spin_unlock_irq(&tables_lock);

	list_for_each_entry_safe(state, next_state, &states, of_vm)
		vcpu_state_discard(state);
	list_for_each_entry_safe(vm, next_vm, &vms, dead)
		put_vm(vm);
}

static DECLARE_WORK(free_dead_work, free_dead);

static void bury_state_locked(struct vcpu_state *state)
{
	pmi_forget_vcpu(&state->pmi);
	hash_del_rcu(&state->node);
	list_move(&state->of_vm, &dead_states);
}

static void bury_vm_locked(struct vm_state *vm)
{
	struct vcpu_state *state, *next;

	list_for_each_entry_safe(state, next, &vm->states, of_vm)
		bury_state_locked(state);
	hash_del(&vm->node);
	list_add(&vm->dead, &dead_vms);
}

/*
 * The death watch: ftrace callbacks, which must not sleep, at the entry of the
 * functions by which KVM ends a vCPU and a VM.  A kprobe can be disarmed or
 * missed; these cannot: while they are registered, ftrace cannot be switched
 * off.  Nothing runs the vCPU or the VM any more, so nothing uses the states.
 */
static notrace void vcpu_dies(unsigned long ip, unsigned long parent_ip,
			      struct ftrace_ops *ops,
			      struct compat_ftrace_regs *regs)
{
	void *vcpu = (void *)compat_ftrace_pt_regs(regs)->di;
	struct vcpu_state *state;
	unsigned long flags;

	raw_spin_lock_irqsave(&tables_lock, flags);
	state = vcpu_state_find(vcpu);
	if (state)
		bury_state_locked(state);
	raw_spin_unlock_irqrestore(&tables_lock, flags);

	if (state)
		schedule_work(&free_dead_work);
}

static notrace void vm_dies(unsigned long ip, unsigned long parent_ip,
			    struct ftrace_ops *ops,
			    struct compat_ftrace_regs *regs)
{
	void *kvm = (void *)compat_ftrace_pt_regs(regs)->di;
	struct vm_state *vm;
	unsigned long flags;

	raw_spin_lock_irqsave(&tables_lock, flags);
	vm = find_vm_locked(kvm);
	if (vm)
		bury_vm_locked(vm);
	raw_spin_unlock_irqrestore(&tables_lock, flags);

	if (vm)
		schedule_work(&free_dead_work);
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
	struct hlist_node *next;
	struct vm_state *vm;
	int bucket;

	raw_spin_lock_irq(&tables_lock);
	hash_for_each_safe(vm_states, bucket, next, vm, node)
		bury_vm_locked(vm);
	raw_spin_unlock_irq(&tables_lock);

	schedule_work(&free_dead_work);
	flush_work(&free_dead_work);
}
