// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "supported_cpuid.h"

#include "advertise.h"
#include "kvm_leaves.h"
#include "kvm_symbols.h"

#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <uapi/linux/kvm_pvperf.h>

/*
 * KVM makes its table from what only it knows, and copies it to the VMM.  So
 * this is the one function of KVM that is called from its own replacement: the
 * tasks that are in there are known, and the probe lets them pass.
 */
struct original_call {
	struct list_head node;
	const struct task_struct *task;
};

static LIST_HEAD(original_calls);

/* Taken in process context alone, at the probe with preemption off. */
static DEFINE_RAW_SPINLOCK(original_calls_lock);

static bool calls_original(void)
{
	const struct original_call *call;
	bool found = false;

	raw_spin_lock(&original_calls_lock);
	list_for_each_entry(call, &original_calls, node)
		if (call->task == current)
			found = true;
	raw_spin_unlock(&original_calls_lock);
	return found;
}
NOKPROBE_SYMBOL(calls_original);

/* kvm_dev_ioctl_get_cpuid(cpuid, entries, type): its type is the ioctl's. */
bool supported_cpuid_wanted(struct pt_regs *regs)
{
	return advertise_choice() == ADVERTISE_VMM &&
	       (unsigned int)regs->dx == KVM_GET_SUPPORTED_CPUID &&
	       !calls_original();
}
NOKPROBE_SYMBOL(supported_cpuid_wanted);

static int get_from_kvm(struct kvm_cpuid2 *cpuid,
			struct kvm_cpuid_entry2 __user *entries,
			unsigned int type)
{
	struct original_call call = { .task = current };
	int result;

	raw_spin_lock(&original_calls_lock);
	list_add(&call.node, &original_calls);
	raw_spin_unlock(&original_calls_lock);

	result = static_call(call_kvm_dev_ioctl_get_cpuid)(cpuid, entries,
							   type);

	raw_spin_lock(&original_calls_lock);
	list_del(&call.node);
	raw_spin_unlock(&original_calls_lock);
	return result;
}

static int add_feature(const struct kvm_cpuid_entry2 *features,
		       struct kvm_cpuid_entry2 __user *destination)
{
	return put_user(features->eax | 1U << KVM_PVPERF_FEATURE_BIT,
			&destination->eax);
}

/**
 * supported_cpuid_get() - instead of kvm_dev_ioctl_get_cpuid()
 * @cpuid: the head of the VMM's table
 * @entries: the VMM's table, in its memory
 * @type: KVM_GET_SUPPORTED_CPUID
 *
 * KVM lists the leaf with its signature before the one with its features.  A
 * VMM that changes its table meanwhile deceives itself only.
 *
 * Return: what KVM returns, or -EFAULT.
 */
int supported_cpuid_get(struct kvm_cpuid2 *cpuid,
			struct kvm_cpuid_entry2 __user *entries,
			unsigned int type)
{
	int result = get_from_kvm(cpuid, entries, type);
	struct kvm_cpuid_entry2 entry;
	u32 features_leaf = 0;
	u32 i;

	for (i = 0; !result && i < cpuid->nent; i++) {
		if (copy_from_user(&entry, &entries[i], sizeof(entry)))
			return -EFAULT;
		if (!features_leaf && is_kvm_base(&entry))
			features_leaf = entry.function + 1;
		else if (features_leaf && entry.function == features_leaf)
			return add_feature(&entry, &entries[i]);
	}
	return result;
}
