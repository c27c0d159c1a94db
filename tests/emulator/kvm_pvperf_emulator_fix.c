// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps two faults of QEMU's software emulation away from the tests.
 *
 * When a VMRUN injects an interrupt, QEMU delivers it, but leaves its vector in
 * the CPU's "exception to deliver" too, where other events do not.  If the CPU
 * then has to leave QEMU's execution loop before anything else is delivered, as it
 * must with -icount whenever a timer is due, the same interrupt is delivered
 * again, also to a guest that has interrupts off: which then waits for a lock
 * that it holds itself.
 *
 * A VM exit clears what was left.  So an entry with an interrupt is made to exit
 * at once, by an interrupt that the host CPU sends to itself: QEMU looks for that
 * before it looks whether to leave the loop.
 *
 * And with more than one CPU, one may go on executing the INT3 of a text that is
 * being patched after it was patched.  The first VM and the first event of a task
 * have the scheduler patched, the last ones again.  So both stay in use.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/kvm_host.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/smp.h>

/* svm_vcpu_run(vcpu): interrupts are off until the guest has been entered. */
static int guest_is_entered(struct kprobe *probe, struct pt_regs *regs)
{
	struct kvm_vcpu *vcpu = (struct kvm_vcpu *)regs->di;

	/* From 6.4 on there is a macro of that name, with an argument. */
	void (*interrupt_cpu)(int cpu) = smp_ops.smp_send_reschedule;

	if (vcpu->arch.interrupt.injected)
		interrupt_cpu(raw_smp_processor_id());
	return 0;
}
NOKPROBE_SYMBOL(guest_is_entered);

static struct kprobe entry_probe = {
	.symbol_name	= "svm_vcpu_run",
	.pre_handler	= guest_is_entered,
};

static struct perf_event *task_event;

static int use_task_events(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};

	task_event = perf_event_create_kernel_counter(&attr, -1, current, NULL,
						      NULL);
	return PTR_ERR_OR_ZERO(task_event);
}

static int __init emulator_fix_init(void)
{
	int err = use_task_events();

	if (err) {
		pr_err("cannot create an event of a task: %d\n", err);
		return err;
	}

	err = register_kprobe(&entry_probe);
	if (err) {
		pr_err("no svm_vcpu_run (%d): load kvm_amd first\n", err);
		perf_event_release_kernel(task_event);
		return err;
	}

	preempt_notifier_inc();
	return 0;
}
module_init(emulator_fix_init);

static void __exit emulator_fix_exit(void)
{
	preempt_notifier_dec();
	unregister_kprobe(&entry_probe);
	perf_event_release_kernel(task_event);
}
module_exit(emulator_fix_exit);

MODULE_DESCRIPTION("Works around faults of QEMU, for tests of kvm-pvperf");
MODULE_LICENSE("GPL");
