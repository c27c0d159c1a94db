// SPDX-License-Identifier: GPL-2.0
/* Guest side of the paravirtual PMU for KVM guests: load and unload. */
#include "log.h"
#include "cpu_events.h"
#include "cpus.h"
#include "detect.h"
#include "host_check.h"
#include "pmi.h"
#include "pmu.h"
#include "sampling.h"
#include "slots.h"

#include <compat/supported.h>
#include <linux/module.h>
#include <linux/reboot.h>
#include <linux/smp.h>

static void reset_this_cpu(void *unused)
{
	slots_reset();
}

static void reset_all_cpus(void)
{
	on_each_cpu(reset_this_cpu, NULL, 1);
}

/* The next kernel may know nothing of what the host still counts for us. */
static int reset_before_reboot(struct notifier_block *block,
			       unsigned long action, void *unused)
{
	slots_close();
	reset_all_cpus();
	return NOTIFY_DONE;
}

static struct notifier_block reboot_notifier = {
	.notifier_call = reset_before_reboot,
};

static int __init guest_init(void)
{
	int error;

	error = detect_host();
	if (error)
		return error;

	error = slots_alloc();
	if (error)
		return error;

	/* A kernel that crashed before this one did not clear up. */
	reset_all_cpus();

	error = sampling_init();
	if (error)
		pr_warn("this kernel has no perf_event_overflow: no sampling\n");

	host_check_init(cpu_events_check_host);
	error = cpus_watch();
	if (error)
		goto free_slots;

	error = register_reboot_notifier(&reboot_notifier);
	if (error)
		goto unwatch_cpus;

	error = pmi_register(cpu_events_interrupt);
	if (error)
		goto unregister_reboot_notifier;

	error = pmu_register();
	if (error)
		goto unregister_pmi;

	return 0;

unregister_pmi:
	pmi_unregister();
unregister_reboot_notifier:
	unregister_reboot_notifier(&reboot_notifier);
unwatch_cpus:
	cpus_unwatch();
free_slots:
	slots_free();
	return error;
}

static void __exit guest_exit(void)
{
	pmu_unregister();
	reset_all_cpus();
	pmi_unregister();
	unregister_reboot_notifier(&reboot_notifier);
	cpus_unwatch();
	host_check_exit();
	slots_free();
}

module_init(guest_init);
module_exit(guest_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("kvm-pvperf developers");
MODULE_DESCRIPTION("Guest side of the paravirtual PMU for KVM guests");
MODULE_VERSION(KVM_PVPERF_VERSION);
