// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "redirect.h"

#include <compat/rcu_tasks.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/utsname.h>

/*
 * A call that is inside a replacement holds the module, so that rmmod answers
 * EBUSY while a guest's request is being served.  The reference is dropped by
 * code of this module: disarming waits for the instructions after that.
 */
void redirect_done(void)
{
	module_put(THIS_MODULE);
}

/* kprobe's pre_handler: preemption is off. */
static int enter(struct kprobe *probe, struct pt_regs *regs)
{
	struct redirect *redirect = container_of(probe, struct redirect, probe);

	if (!redirect->wanted(regs))
		return 0;

	/* Being unloaded: the guest gets KVM's own answer. */
	if (!try_module_get(THIS_MODULE))
		return 0;

	this_cpu_inc(*redirect->hits);
	regs->ip = redirect->replacement;
	return 1;
}
NOKPROBE_SYMBOL(enter);

/*
 * Having a post_handler keeps the probe from being jump-optimised, which would
 * ignore a changed instruction pointer, and makes ftrace refuse a second owner
 * of the function's entry (a live patch) instead of letting both fight.
 */
static void leave(struct kprobe *probe, struct pt_regs *regs,
		  unsigned long flags)
{
}
NOKPROBE_SYMBOL(leave);

static int arm(struct redirect *redirect)
{
	int error;

	memset(&redirect->probe, 0, sizeof(redirect->probe));
	redirect->probe.symbol_name = redirect->symbol;
	redirect->probe.pre_handler = enter;
	redirect->probe.post_handler = leave;
	error = register_kprobe(&redirect->probe);
	redirect->armed = !error;
	return error;
}

void redirect_disarm(struct redirect *redirects, unsigned int count)
{
	unsigned int i;

	for (i = count; i--; ) {
		if (!redirects[i].armed)
			continue;
		unregister_kprobe(&redirects[i].probe);
		redirects[i].armed = false;
	}

	/* Tasks may still be between module_put() and their return. */
	compat_synchronize_rcu_tasks();
}

int redirect_arm(struct redirect *redirects, unsigned int count)
{
	unsigned int i;
	int error;

	for (i = 0; i < count; i++) {
		if (redirects[i].possible && !redirects[i].possible())
			continue;

		error = arm(&redirects[i]);
		if (!error)
			continue;

		pr_err("cannot redirect %s of kernel %s: error %d\n",
		       redirects[i].symbol, init_utsname()->release, error);
		if (!redirects[i].required)
			continue;

		redirect_disarm(redirects, i);
		return error;
	}
	return 0;
}

int redirect_print(const struct redirect *redirect, char *buffer, size_t size)
{
	unsigned long hits = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		hits += *per_cpu_ptr(redirect->hits, cpu);

	return scnprintf(buffer, size, "%s %s hits %lu missed %lu\n",
			 redirect->symbol, redirect->armed ? "armed" : "off",
			 hits, redirect->probe.nmissed);
}

/*
 * register_kprobe() returning 0 is no proof: a kernel with ftrace switched off
 * accepts the probe and never calls it.  So the mechanism is tried on a
 * function of our own, with one call that is to be redirected and one that is
 * not.
 */
#define SELF_TEST_REDIRECTED	17
#define SELF_TEST_ORIGINAL	1
#define SELF_TEST_REPLACED	2

static DEFINE_PER_CPU(unsigned long, self_test_hits);

/* Nothing about it is to be known to its callers, or to the compiler there. */
static noinline __used int self_test_target(int value)
{
	int result = SELF_TEST_ORIGINAL;

	asm volatile("" : "+r" (value), "+r" (result) : : "memory");
	return result;
}

static noinline int self_test_replacement(int value)
{
	redirect_done();
	return value == SELF_TEST_REDIRECTED ? SELF_TEST_REPLACED : 0;
}

static bool self_test_wanted(struct pt_regs *regs)
{
	return (int)regs->di == SELF_TEST_REDIRECTED;
}
NOKPROBE_SYMBOL(self_test_wanted);

int redirect_self_test(void)
{
	struct redirect redirect = {
		.symbol = KBUILD_MODNAME ":self_test_target",
		.wanted = self_test_wanted,
		.replacement = (unsigned long)self_test_replacement,
		.required = true,
		.hits = &self_test_hits,
	};
	int redirected, original, error;

	error = redirect_arm(&redirect, 1);
	if (error)
		return error;

	redirected = self_test_target(SELF_TEST_REDIRECTED);
	original = self_test_target(SELF_TEST_REDIRECTED + 1);
	redirect_disarm(&redirect, 1);

	if (redirected == SELF_TEST_REPLACED && original == SELF_TEST_ORIGINAL)
		return 0;

	pr_err("kernel %s does not redirect functions: are kprobes or ftrace switched off?\n",
	       init_utsname()->release);
	return -EOPNOTSUPP;
}
