// SPDX-License-Identifier: GPL-2.0
/*
 * Makes kernel-mode port writes that the test PMU counts exactly.
 *
 * Writing a decimal number N to /dev/kvm-pvperf-test executes N times OUT to
 * port 0x5e0 at CPL 0, in the context of the writing task.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#define EXACT_PORT		0x5e0
#define WRITES_BETWEEN_CHECKS	256

static ssize_t test_guest_write(struct file *file, const char __user *text,
				size_t size, loff_t *position)
{
	unsigned int count, done;
	int err;

	err = kstrtouint_from_user(text, size, 10, &count);
	if (err)
		return err;

	for (done = 0; done < count; done++) {
		outb(0, EXACT_PORT);
		if (done % WRITES_BETWEEN_CHECKS)
			continue;
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return size;
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

MODULE_DESCRIPTION("Kernel-mode port writes for tests of kvm-pvperf");
MODULE_LICENSE("GPL");
