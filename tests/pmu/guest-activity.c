// SPDX-License-Identifier: GPL-2.0
/*
 * Watches what guests do, by probes in KVM on AMD.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <asm/msr.h>
#include <linux/kprobes.h>
#include <linux/kvm_host.h>

#include "test-pmu.h"

/*
 * Resolved at load, since from 6.18 on KVM exports what it exports to its own modules
 * only, and does not say in public what it is.
 */
static int (*get_cpl)(struct kvm_vcpu *vcpu);
static int (*skip_emulated_instruction)(struct kvm_vcpu *vcpu);
static struct kvm_vcpu *(*get_running_vcpu)(void);

static enum guest_mode mode_of(struct kvm_vcpu *vcpu)
{
	return get_cpl(vcpu) ? GUEST_USER : GUEST_KERNEL;
}

struct guest_interval {
	struct kvm_vcpu *vcpu;
	u64 begin;
};

static int interval_begins(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	struct guest_interval *interval = (void *)instance->data;

	overflow_guest_mode_begins();
	interval->vcpu = (struct kvm_vcpu *)regs->di;
	interval->begin = rdtsc_ordered();
	return 0;
}
NOKPROBE_SYMBOL(interval_begins);

/*
 * Interrupts are off from before svm_vcpu_run to after it, so that nobody on
 * this CPU starts, stops or reads an event inside an interval.
 */
static int interval_ends(struct kretprobe_instance *instance,
			 struct pt_regs *regs)
{
	u64 end = rdtsc_ordered();
	struct guest_interval *interval = (void *)instance->data;
	enum guest_mode mode = mode_of(interval->vcpu);

	this_cpu_add(guest_activity.mode_cycles[mode], end - interval->begin);
	statistic_count(STATISTIC_GUEST_INTERVALS);
	overflow_guest_mode_ended(regs);
	return 0;
}
NOKPROBE_SYMBOL(interval_ends);

static void port_written(struct kvm_vcpu *vcpu, struct pt_regs *regs)
{
	unsigned long flags;

	local_irq_save(flags);
	this_cpu_inc(guest_activity.port_writes[mode_of(vcpu)]);
	overflow_port_written(regs);
	local_irq_restore(flags);
}
NOKPROBE_SYMBOL(port_written);

/* What kvm_fast_pio does where a device in the kernel took the value. */
static noinline int swallow_port_write(struct kvm_vcpu *vcpu, int size,
				       unsigned short port, int in)
{
	return skip_emulated_instruction(vcpu);
}

/*
 * kvm_fast_pio(vcpu, size, port, in): IN and OUT that are not string moves.
 * No VMM has a device at the port, and asking it takes several times as long as
 * all the rest, so the write ends here.
 */
static int intercepted_port_access(struct kprobe *probe, struct pt_regs *regs)
{
	if ((u16)regs->dx != TEST_PMU_EXACT_PORT || (int)regs->cx)
		return 0;
	port_written((struct kvm_vcpu *)regs->di, regs);
	regs->ip = (unsigned long)swallow_port_write;
	return 1;
}
NOKPROBE_SYMBOL(intercepted_port_access);

/*
 * emulator_pio_out_emulated(ctxt, size, port, value, count): what the emulator
 * executes: OUTS, which asks once per element, and OUT when it is told to
 * emulate that.  None of these passes through kvm_fast_pio.
 */
static int emulated_port_write(struct kprobe *probe, struct pt_regs *regs)
{
	struct kvm_vcpu *vcpu = get_running_vcpu();

	if ((u16)regs->dx == TEST_PMU_EXACT_PORT && vcpu)
		port_written(vcpu, regs);
	return 0;
}
NOKPROBE_SYMBOL(emulated_port_write);

static struct kretprobe guest_mode_probe = {
	.kp.symbol_name	= "svm_vcpu_run",
	.entry_handler	= interval_begins,
	.handler	= interval_ends,
	.data_size	= sizeof(struct guest_interval),
};

static struct kprobe port_access_probe = {
	.symbol_name	= "kvm_fast_pio",
	.pre_handler	= intercepted_port_access,
};

static struct kprobe port_emulation_probe = {
	.symbol_name	= "emulator_pio_out_emulated",
	.pre_handler	= emulated_port_write,
};

unsigned long guest_activity_missed_intervals(void)
{
	return guest_mode_probe.nmissed + guest_mode_probe.kp.nmissed;
}

unsigned long guest_activity_missed_port_writes(void)
{
	return port_access_probe.nmissed + port_emulation_probe.nmissed;
}

static void *locate(const char *name)
{
	struct kprobe locator = { .symbol_name = name };

	if (register_kprobe(&locator))
		return NULL;
	unregister_kprobe(&locator);
	return locator.addr;
}

/* kvm_amd uses kvm, and the probe in kvm_amd holds that. */
static bool resolve_functions(void)
{
	get_cpl = locate("svm_get_cpl");
	skip_emulated_instruction = locate("kvm_skip_emulated_instruction");
	get_running_vcpu = locate("kvm_get_running_vcpu");
	return get_cpl && skip_emulated_instruction && get_running_vcpu;
}

/*
 * A probe that is not at a function's entry site of ftrace single-steps or
 * jumps, which can lose hits.
 */
static int check_mechanism(const struct kprobe *probe)
{
	if (probe->flags & KPROBE_FLAG_FTRACE)
		return 0;
	pr_err("the probe on %s does not use ftrace\n", probe->symbol_name);
	return -EOPNOTSUPP;
}

int guest_activity_watch(void)
{
	struct kprobe *port_probes[] = {
		&port_access_probe, &port_emulation_probe
	};
	int err;

	if (!resolve_functions()) {
		pr_err("KVM lacks what is needed: load kvm_amd first\n");
		return -ENOENT;
	}

	err = register_kprobes(port_probes, ARRAY_SIZE(port_probes));
	if (err) {
		pr_err("cannot watch port writes: %d\n", err);
		return err;
	}

	err = register_kretprobe(&guest_mode_probe);
	if (err) {
		pr_err("cannot watch svm_vcpu_run: %d\n", err);
		goto unwatch_ports;
	}

	err = check_mechanism(&port_access_probe) ?:
	      check_mechanism(&port_emulation_probe) ?:
	      check_mechanism(&guest_mode_probe.kp);
	if (!err)
		return 0;

	unregister_kretprobe(&guest_mode_probe);
unwatch_ports:
	unregister_kprobes(port_probes, ARRAY_SIZE(port_probes));
	return err;
}

void guest_activity_unwatch(void)
{
	struct kprobe *port_probes[] = {
		&port_access_probe, &port_emulation_probe
	};

	unregister_kretprobe(&guest_mode_probe);
	unregister_kprobes(port_probes, ARRAY_SIZE(port_probes));
}
