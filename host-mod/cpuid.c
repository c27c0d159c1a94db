// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "cpuid.h"

#include <asm/kvm_para.h>
#include <compat/kvm_vcpu.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/utsname.h>
#include <uapi/linux/kvm_pvperf.h>

enum advertise { ADVERTISE_NONE, ADVERTISE_ALL };

static const char * const advertise_names[] = {
	[ADVERTISE_NONE] = "none",
	[ADVERTISE_ALL] = "all",
};

static int advertise = ADVERTISE_ALL;

static int set_advertise(const char *value, const struct kernel_param *param)
{
	int choice = sysfs_match_string(advertise_names, value);

	if (choice < 0) {
		pr_err("advertise=%s: only all and none are known\n", value);
		return choice;
	}
	WRITE_ONCE(advertise, choice);
	return 0;
}

static int get_advertise(char *buffer, const struct kernel_param *param)
{
	return scnprintf(buffer, PAGE_SIZE, "%s\n", advertise_names[advertise]);
}

static const struct kernel_param_ops advertise_ops = {
	.set = set_advertise,
	.get = get_advertise,
};

module_param_cb(advertise, &advertise_ops, NULL, 0644);
MODULE_PARM_DESC(advertise,
		 "which VMs are offered the paravirtual PMU: all (default) or none; guests look when they load their module");

/* Where hypervisors' leaves may be, and how far apart. */
#define HYPERVISOR_LEAVES_FIRST	0x40000000U
#define HYPERVISOR_LEAVES_LAST	0x4000ff00U
#define HYPERVISOR_LEAVES_MASK	0xffU

static bool is_base(u32 function)
{
	return function >= HYPERVISOR_LEAVES_FIRST &&
	       function <= HYPERVISOR_LEAVES_LAST &&
	       !(function & HYPERVISOR_LEAVES_MASK);
}

static bool has_kvm_signature(const struct kvm_cpuid_entry2 *entry)
{
	const u32 signature[] = { entry->ebx, entry->ecx, entry->edx };

	return !memcmp(signature, "KVMKVMKVM\0\0\0", sizeof(signature));
}

/*
 * The leaf after the one with KVM's signature; 0 without such a vCPU.  The
 * entries change in the vCPU's own thread only, under the vCPU's mutex, which
 * that thread holds while it runs the vCPU: and only there this is called.
 */
static u32 features_leaf(struct kvm_vcpu *vcpu)
{
	const struct kvm_cpuid_entry2 *entry = vcpu->arch.cpuid_entries;
	u32 lowest = U32_MAX;
	int i;

	for (i = 0; i < vcpu->arch.cpuid_nent; i++, entry++)
		if (is_base(entry->function) && has_kvm_signature(entry))
			lowest = min(lowest, entry->function);
	return lowest == U32_MAX ? 0 : lowest + 1;
}
NOKPROBE_SYMBOL(features_leaf);

/* For a vCPU in its own thread; callable with preemption off. */
bool cpuid_vcpu_has_feature(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(advertise) == ADVERTISE_ALL &&
	       !compat_kvm_vcpu_state_is_encrypted(vcpu) &&
	       features_leaf(vcpu);
}

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

	if (!READ_ONCE(is_offered) || !is_base(*eax - 1) || !cpuid_vcpu_has_feature(vcpu) ||
	    *eax != features_leaf(vcpu))
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
