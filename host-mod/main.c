// SPDX-License-Identifier: GPL-2.0
/* Host side of the paravirtual PMU for KVM guests: load and unload. */
#include "log.h"
#include "cpuid.h"
#include "event_table.h"
#include "hypercall.h"
#include "kvm_symbols.h"
#include "redirect.h"
#include "supported_cpuid.h"
#include "vcpu_state.h"

#include <compat/supported.h>
#include <linux/kvm_host.h>
#include <linux/module.h>

static bool hypercall_wanted(struct pt_regs *regs)
{
	return hypercall_is_ours((struct kvm_vcpu *)regs->di);
}
NOKPROBE_SYMBOL(hypercall_wanted);

static int replaced_kvm_emulate_hypercall(struct kvm_vcpu *vcpu)
{
	int result = hypercall_emulate(vcpu);

	redirect_done();
	return result;
}

static int replaced_kvm_dev_ioctl_get_cpuid(struct kvm_cpuid2 *cpuid,
					    struct kvm_cpuid_entry2 __user *entries,
					    unsigned int type)
{
	int result = supported_cpuid_get(cpuid, entries, type);

	redirect_done();
	return result;
}

static DEFINE_PER_CPU(unsigned long, hypercall_hits);
static DEFINE_PER_CPU(unsigned long, supported_cpuid_hits);

static struct redirect redirects[] = {
	{
		.symbol = "kvm:kvm_emulate_hypercall",
		.wanted = hypercall_wanted,
		.replacement = (unsigned long)replaced_kvm_emulate_hypercall,
		.required = true,
		.hits = &hypercall_hits,
	}, {
		.symbol = "kvm:kvm_dev_ioctl_get_cpuid",
		.wanted = supported_cpuid_wanted,
		.replacement = (unsigned long)replaced_kvm_dev_ioctl_get_cpuid,
		.possible = kvm_symbols_can_get_supported_cpuid,
		.hits = &supported_cpuid_hits,
	},
};

static int get_probes(char *buffer, const struct kernel_param *param)
{
	int length = cpuid_print(buffer, PAGE_SIZE);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(redirects); i++)
		length += redirect_print(&redirects[i], buffer + length,
					 PAGE_SIZE - length);
	return length;
}

static const struct kernel_param_ops probes_ops = {
	.get = get_probes,
};

module_param_cb(probes, &probes_ops, NULL, 0444);
MODULE_PARM_DESC(probes,
		 "what is probed in KVM, with calls served and calls that the kernel let pass the probe");

static int __init host_init(void)
{
	int error;

	error = kvm_symbols_resolve();
	if (error)
		return error;

	error = redirect_self_test();
	if (error)
		goto release_symbols;

	error = event_table_init();
	if (error)
		goto release_symbols;

	error = vcpu_state_watch_deaths();
	if (error)
		goto exit_event_table;

	error = cpuid_arm();
	if (error)
		goto unwatch_deaths;

	/*
	 * Last of what can fail: from here on guests may be inside, asleep, and
	 * a module whose loading fails is not waited for.
	 */
	error = redirect_arm(redirects, ARRAY_SIZE(redirects));
	if (error)
		goto disarm_cpuid;

	cpuid_offer();
	return 0;

disarm_cpuid:
	cpuid_disarm();
unwatch_deaths:
	vcpu_state_unwatch_deaths();
exit_event_table:
	event_table_exit();
release_symbols:
	kvm_symbols_release();
	return error;
}

static void __exit host_exit(void)
{
	cpuid_disarm();
	redirect_disarm(redirects, ARRAY_SIZE(redirects));
	vcpu_state_unwatch_deaths();
	vcpu_state_free_all();
	event_table_exit();
	kvm_symbols_release();
}

module_init(host_init);
module_exit(host_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("kvm-pvperf developers");
MODULE_DESCRIPTION("Host side of the paravirtual PMU for KVM guests");
MODULE_VERSION(KVM_PVPERF_VERSION);
MODULE_SOFTDEP("pre: kvm");
