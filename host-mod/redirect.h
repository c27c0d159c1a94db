/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of KVM whose calls are, where we own them completely, served here. */
#ifndef _HOST_MOD_REDIRECT_H
#define _HOST_MOD_REDIRECT_H

#include <linux/kprobes.h>
#include <linux/types.h>

/**
 * struct redirect - one redirected function
 * @symbol: "module:function"
 * @wanted: decides from the registers at the function's entry whether this
 *	call is ours.  Preemption or interrupts are off: it must not sleep.
 * @replacement: runs instead of the function, in the caller's context, with
 *	the function's own prototype; its last act is redirect_done()
 * @possible: whether what the replacement needs is there; NULL if it needs
 *	nothing.  Without it the function is left alone.
 * @required: loading fails without it
 * @armed: the probe is in place
 * @hits: calls that were redirected, per CPU
 * @probe: the kprobe at the function's entry
 */
struct redirect {
	const char *symbol;
	bool (*wanted)(struct pt_regs *regs);
	unsigned long replacement;
	bool (*possible)(void);
	bool required;
	bool armed;
	unsigned long __percpu *hits;
	struct kprobe probe;
};

int redirect_self_test(void);
int redirect_arm(struct redirect *redirects, unsigned int count);
void redirect_disarm(struct redirect *redirects, unsigned int count);
void redirect_done(void);
int redirect_print(const struct redirect *redirect, char *buffer, size_t size);

#endif
