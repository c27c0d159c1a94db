// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps a fault of QEMU's software SVM away from nested guests.
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
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/kvm_host.h>
#include <linux/module.h>
#include <linux/smp.h>

/* svm_vcpu_run(vcpu): interrupts are off until the guest has been entered. */
static int guest_is_entered(struct kprobe *probe, struct pt_regs *regs)
{
	struct kvm_vcpu *vcpu = (struct kvm_vcpu *)regs->di;

	if (vcpu->arch.interrupt.injected)
		smp_ops.smp_send_reschedule(raw_smp_processor_id());
	return 0;
}
NOKPROBE_SYMBOL(guest_is_entered);

static struct kprobe entry_probe = {
	.symbol_name	= "svm_vcpu_run",
	.pre_handler	= guest_is_entered,
};

static int __init emulator_fix_init(void)
{
	int err = register_kprobe(&entry_probe);

	if (err)
		pr_err("no svm_vcpu_run (%d): load kvm_amd first\n", err);
	return err;
}
module_init(emulator_fix_init);

static void __exit emulator_fix_exit(void)
{
	unregister_kprobe(&entry_probe);
}
module_exit(emulator_fix_exit);

MODULE_DESCRIPTION("Works around a fault of QEMU's SVM, for tests of kvm-pvperf");
MODULE_LICENSE("GPL");
