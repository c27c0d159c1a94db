// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the port writes that the test PMU counts exactly, and spins in a function
 * of a known name.
 *
 * /dev/kvm-pvperf-test takes one of these texts per write:
 *
 *   N       a decimal number: execute N times OUT to port 0x5e0 at CPL 0, in the
 *           context of the writing task.  The symbol kvm_pvperf_after_write is
 *           the instruction behind that OUT.
 *   spin N  call kvm_pvperf_planted_kernel() N times, which executes a million
 *           instructions each
 *   iopl    let the writing task, and what it creates from now on, execute OUT at
 *           CPL 3
 *
 * The last is what ioperm() is for, but in a guest of an emulated host that
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

#define SPIN_ITERATIONS		500000	/* of two instructions */

/* The label must not be copied along with the code. */
static noinline __noclone void write_port_once(void)
{
	asm volatile("outb %b0, %w1\n"
		     "kvm_pvperf_after_write:"
		     : : "a" (0), "d" (EXACT_PORT));
}

/* Tests find it in profiles. */
static noinline __noclone void kvm_pvperf_planted_kernel(void)
{
	unsigned long iterations = SPIN_ITERATIONS;

	asm volatile("1: dec %0\n\tjnz 1b" : "+r" (iterations) : : "cc");
}

static int repeat(unsigned int count, void (*function)(void),
		  unsigned int calls_between_checks)
{
	unsigned int done;

	for (done = 0; done < count; done++) {
		function();
		if (done % calls_between_checks)
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
	char text[24];
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

	if (!strncmp(text, "spin ", 5)) {
		err = kstrtouint(text + 5, 10, &count);
		if (!err)
			err = repeat(count, kvm_pvperf_planted_kernel, 1);
	} else {
		err = kstrtouint(text, 10, &count);
		if (!err)
			err = repeat(count, write_port_once,
				     WRITES_BETWEEN_CHECKS);
	}
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
