// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "cpuid.h"

#include "advertise.h"
#include "kvm_leaves.h"

#include <compat/kvm_vcpu.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/utsname.h>
#include <uapi/linux/kvm_pvperf.h>

/*
 * The leaf after the one with KVM's signature; 0 without such a vCPU.  The
 * entries change in the vCPU's own thread only, under the vCPU's mutex, which
 * that thread holds while it runs the vCPU: and only there this is called.
 */
static u32 features_leaf(const struct kvm_vcpu *vcpu)
{
	const struct kvm_cpuid_entry2 *entry = vcpu->arch.cpuid_entries;
	u32 lowest = U32_MAX;
	int i;

	for (i = 0; i < vcpu->arch.cpuid_nent; i++, entry++)
		if (is_kvm_base(entry))
			lowest = min(lowest, entry->function);
	return lowest == U32_MAX ? 0 : lowest + 1;
}
NOKPROBE_SYMBOL(features_leaf);

/* As its VMM has set it. */
static bool has_bit_of_vmm(const struct kvm_vcpu *vcpu, u32 leaf)
{
	const struct kvm_cpuid_entry2 *entry = vcpu->arch.cpuid_entries;
	int i;

	for (i = 0; i < vcpu->arch.cpuid_nent; i++, entry++)
		if (entry->function == leaf)
			return entry->eax & 1U << KVM_PVPERF_FEATURE_BIT;
	return false;
}
NOKPROBE_SYMBOL(has_bit_of_vmm);

/* For a vCPU in its own thread; callable with preemption off. */
bool cpuid_vcpu_has_feature(struct kvm_vcpu *vcpu)
{
	u32 leaf = features_leaf(vcpu);

	if (!leaf || compat_kvm_vcpu_state_is_encrypted(vcpu))
		return false;

	switch (advertise_choice()) {
	case ADVERTISE_ALL:
		return true;
	case ADVERTISE_VMM:
		return has_bit_of_vmm(vcpu, leaf);
	case ADVERTISE_NONE:
		break;
	}
	return false;
}
NOKPROBE_SYMBOL(cpuid_vcpu_has_feature);

/* Set once hypercalls are served: guests that see the bit expect an answer. */
static bool is_offered;
static bool is_armed;
static DEFINE_PER_CPU(unsigned long, offers);

/* The caller's variable into which kvm_cpuid() puts EAX. */
struct cpuid_call {
	u32 *eax;
};

/*
 * kvm_cpuid(vcpu, &eax, ...), executed for the guest's instruction and by the
 * emulator.  Preemption is off.  Not 0: this return is of no interest.
 */
static int cpuid_entered(struct kretprobe_instance *instance,
			 struct pt_regs *regs)
{
	struct cpuid_call *call = (struct cpuid_call *)instance->data;
	struct kvm_vcpu *vcpu = (struct kvm_vcpu *)regs->di;
	u32 *eax = (u32 *)regs->si;

	if (!READ_ONCE(is_offered) || !is_hypervisor_base(*eax - 1) ||
	    *eax != features_leaf(vcpu) || !cpuid_vcpu_has_feature(vcpu))
		return 1;

	call->eax = eax;
	return 0;
}
NOKPROBE_SYMBOL(cpuid_entered);

static int cpuid_returns(struct kretprobe_instance *instance,
			 struct pt_regs *regs)
{
	struct cpuid_call *call = (struct cpuid_call *)instance->data;

	*call->eax |= 1U << KVM_PVPERF_FEATURE_BIT;
	this_cpu_inc(offers);
	return 0;
}
NOKPROBE_SYMBOL(cpuid_returns);

static struct kretprobe cpuid_probe = {
	.kp.symbol_name = "kvm:kvm_cpuid",
	.entry_handler = cpuid_entered,
	.handler = cpuid_returns,
	.data_size = sizeof(struct cpuid_call),
};

int cpuid_arm(void)
{
	int error;

	/* kvm_cpuid() does not sleep, but it can be preempted. */
	cpuid_probe.maxactive = 16 * num_possible_cpus();
	error = register_kretprobe(&cpuid_probe);
	is_armed = !error;
	if (error)
		pr_err("cannot probe %s of kernel %s: error %d\n",
		       cpuid_probe.kp.symbol_name, init_utsname()->release,
		       error);
	return error;
}

void cpuid_offer(void)
{
	WRITE_ONCE(is_offered, true);
}

void cpuid_disarm(void)
{
	is_armed = false;
	unregister_kretprobe(&cpuid_probe);
}

int cpuid_print(char *buffer, size_t size)
{
	unsigned long hits = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		hits += per_cpu(offers, cpu);

	return scnprintf(buffer, size, "%s %s hits %lu missed %lu\n",
			 cpuid_probe.kp.symbol_name, is_armed ? "armed" : "off",
			 hits, cpuid_probe.kp.nmissed + cpuid_probe.nmissed);
}
