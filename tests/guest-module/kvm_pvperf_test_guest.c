// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the port writes that the test PMU counts exactly.
 *
 * /dev/kvm-pvperf-test takes one of these texts per write:
 *
 *   N     a decimal number: execute N times OUT to port 0x5e0 at CPL 0, in the
 *         context of the writing task
 *   iopl  let the writing task, and what it creates from now on, execute OUT at
 *         CPL 3
 *
 * The second is what ioperm() is for, but in a guest of an emulated host that
 * ends in a general protection fault: KVM gives the VMM the task register as
 * busy, the VMM may give it back so, and QEMU's emulator refuses port access
 * through the bit map of a task register that is busy.
 */
#include <asm/processor-flags.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#define EXACT_PORT		0x5e0
#define WRITES_BETWEEN_CHECKS	256

static int write_port(unsigned int count)
{
	unsigned int done;

	for (done = 0; done < count; done++) {
		outb(0, EXACT_PORT);
		if (done % WRITES_BETWEEN_CHECKS)
			continue;
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static ssize_t test_guest_write(struct file *file, const char __user *buffer,
				size_t size, loff_t *position)
{
	unsigned int count;
	char text[16];
	int err;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buffer, size))
		return -EFAULT;
	text[size] = '\0';

	if (sysfs_streq(text, "iopl")) {
		current_pt_regs()->flags |= X86_EFLAGS_IOPL;
		return size;
	}

	err = kstrtouint(text, 10, &count);
	if (!err)
		err = write_port(count);
	return err ?: size;
}

static const struct file_operations test_guest_operations = {
	.owner	= THIS_MODULE,
	.write	= test_guest_write,
	.llseek	= noop_llseek,
};

static struct miscdevice test_guest_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "kvm-pvperf-test",
	.fops	= &test_guest_operations,
	.mode	= 0600,
};
module_misc_device(test_guest_device);

MODULE_DESCRIPTION("Port writes for tests of kvm-pvperf");
MODULE_LICENSE("GPL");
