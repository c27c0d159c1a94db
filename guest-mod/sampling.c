// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "sampling.h"

#include <asm/apic.h>
#include <asm/irq_vectors.h>
#include <asm/ptrace.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/static_call.h>
#include <linux/timekeeping.h>

/*
 * The perf core does not export it, and a handler that is called without it
 * knows no throttling and no limit.  A static call, since functions that are not
 * exported have no ENDBR on kernels with IBT.
 */
DEFINE_STATIC_CALL_NULL(call_perf_event_overflow, perf_event_overflow);
static bool is_overflow_found;

/* For samples that are taken outside an interrupt; interrupts are off. */
static DEFINE_PER_CPU(struct pt_regs, caller_regs);

bool sampling_is_possible(void)
{
	return is_overflow_found;
}

/* Without it there is a PMU that counts. */
int sampling_init(void)
{
	struct kprobe locator = {
		.symbol_name = "perf_event_overflow",
		.flags = KPROBE_FLAG_DISABLED,
	};
	typeof(perf_event_overflow) *overflow;
	int error = register_kprobe(&locator);

	if (error)
		return error;

	overflow = (void *)locator.addr;
	static_call_update(call_perf_event_overflow, overflow);
	is_overflow_found = true;
	unregister_kprobe(&locator);
	return 0;
}

/**
 * sampling_plan_run() - what the host is to do next
 * @run: to be filled
 * @event: has said how far it is in its period
 * @min_period: of the host
 */
void sampling_plan_run(struct sampled_run *run,
		       const struct perf_event *event, u64 min_period)
{
	u64 period = max(event->hw.sample_period, min_period);
	s64 left = local64_read(&event->hw.period_left);

	if (left <= 0)
		left += period;

	run->period = period;
	run->left = clamp_t(s64, left, 1, period);
	run->carried = local64_read(&event->hw.prev_count);
	run->overflows = 0;
	run->missed = 0;
}

/**
 * sampling_report() - look for new overflows
 * @run: the run that is reported on
 * @event: whose run it is
 * @report: the host's
 *
 * Return: the sum of the sample periods that have ended; 0 if none has.
 */
u64 sampling_report(struct sampled_run *run, struct perf_event *event,
		    const struct kvm_pvperf_report *report)
{
	u32 new_overflows = report->overflows - (u32)run->overflows;
	u64 missed = report->time_enabled - report->time_running;
	bool is_first = !run->overflows;
	u64 left;

	if (report->state == KVM_PVPERF_STATE_THROTTLED && missed > run->missed)
		run->is_throttled = true;
	run->missed = missed;

	run->overflows += new_overflows;
	left = run->left + run->overflows * run->period - report->count;
	local64_set(&event->hw.period_left, left);
	local64_set(&event->hw.prev_count,
		    run->overflows ? run->period - left :
		    run->carried + report->count);

	if (!new_overflows)
		return 0;
	if (is_first)
		return run->carried + run->left +
		       (new_overflows - 1) * run->period;
	return new_overflows * run->period;
}

/*
 * The period of an event with a frequency is right again at the next tick.  That
 * is too late where one starts with a period of 1, as all do.
 */
bool sampling_is_period_far_off(const struct sampled_run *run,
				const struct perf_event *event)
{
	u64 wanted = event->hw.sample_period;

	return event->attr.freq &&
	       (wanted / 2 >= run->period || wanted <= run->period / 2);
}

/*
 * An event that does not count in the kernel has nothing to say of it, although
 * its overflow may have been noticed there.
 */
static struct pt_regs *regs_of_sample(const struct perf_event *event,
				      struct pt_regs *regs)
{
	struct pt_regs *user_regs;

	if (!regs) {
		regs = this_cpu_ptr(&caller_regs);
		perf_fetch_caller_regs(regs);
	}
	if (!event->attr.exclude_kernel || user_mode(regs) ||
	    current->flags & PF_KTHREAD)
		return regs;

	user_regs = task_pt_regs(current);
	return user_mode(user_regs) ? user_regs : regs;
}

/*
 * An event that overflows faster than it can be handled lets nothing through but
 * NMIs.  The perf core throttles by the number of samples in a tick, which may never
 * be reached where each costs several VM exits.  Neither does time tell, since the
 * host may not have run the vCPU or its timer, nor one interrupt that waits, since
 * an NMI goes first: many samples in a row do, each with a tick overdue and an
 * interrupt waiting.
 */
#define STARVATION_NS		(100 * NSEC_PER_MSEC)
#define STARVATION_SAMPLES	100

static bool is_interrupt_waiting(void)
{
	unsigned int vector;

	for (vector = FIRST_EXTERNAL_VECTOR; vector < NR_VECTORS; vector += 32)
		if (apic->read(APIC_IRR + vector / 32 * 0x10))
			return true;
	return false;
}

static bool is_starving_others(struct sampled_run *run, u64 now)
{
	/* A VM exit for each read of the local APIC: only where there is a doubt. */
	if (!run->tick_began || now - run->tick_began <= STARVATION_NS)
		return false;
	run->starving_samples =
		is_interrupt_waiting() ? run->starving_samples + 1 : 0;
	return run->starving_samples > STARVATION_SAMPLES;
}

/* After a sample: was it the first since a tick? */
static void follow_ticks(struct sampled_run *run,
			 const struct perf_event *event, u64 now)
{
	if (run->tick_began && run->tick == event->hw.interrupts_seq)
		return;

	run->tick = event->hw.interrupts_seq;
	run->tick_began = now;
	run->starving_samples = 0;
}

/* The perf core throttles from so many samples in a tick on. */
#define MORE_THAN_ANY_LIMIT	S32_MAX

/* It has the last word: if there was a tick since the last sample, it counts anew. */
static void suggest_throttling(struct perf_event *event)
{
	event->hw.interrupts = MORE_THAN_ANY_LIMIT;
}

static bool has_throttled(const struct perf_event *event)
{
	return event->hw.interrupts > MORE_THAN_ANY_LIMIT;
}

/*
 * The next tick ends the throttling.  That tick may be waiting already, and would
 * be all that is let through: so all else gets as much time as the samples had.
 */
static void hold_back(struct sampled_run *run, u64 now)
{
	run->held_until = now + min_t(u64, now - run->tick_began, STARVATION_NS);
}

/**
 * sampling_wait() - must it be waited before an event is started?
 * @run: its last
 *
 * Return: the nanoseconds to wait; 0 if it can be started now.
 */
u64 sampling_wait(const struct sampled_run *run)
{
	u64 now;

	if (!run->held_until)
		return 0;

	now = ktime_get_mono_fast_ns();
	return run->held_until > now ? run->held_until - now : 0;
}

/*
 * The perf core begins with a period of 1 and approaches the right one by an eighth
 * of the difference at each sample, by a clock that may stand still in NMI context.
 * From far away it is reached in one step.
 */
#define PERIOD_FAR_OFF	8

static void approach_frequency(struct sampled_run *run,
			       struct perf_event *event, u64 period, u64 now)
{
	u64 interval = now - run->sampled_at;
	u64 wanted;

	if (!event->attr.freq || !run->sampled_at || !interval)
		return;

	wanted = mul_u64_u64_div_u64(period, NSEC_PER_SEC,
				     interval * event->attr.sample_freq);
	if (wanted / PERIOD_FAR_OFF >= event->hw.sample_period)
		event->hw.sample_period = wanted;
}

/**
 * sampling_deliver() - one sample
 * @run: the current one
 * @event: has overflowed
 * @period: events since its last sample
 * @regs: where; NULL for here
 *
 * In NMI context or with interrupts off, with the PMU disabled: the perf core may
 * stop and start the event.
 *
 * Return: the perf core wants the event to be stopped.
 */
bool sampling_deliver(struct sampled_run *run, struct perf_event *event,
		      u64 period, struct pt_regs *regs)
{
	u64 now = ktime_get_mono_fast_ns();
	struct perf_sample_data data;
	bool must_stop;

	/* So that a record tells of it, as of the perf core's own throttling. */
	if (is_starving_others(run, now) || run->is_throttled)
		suggest_throttling(event);
	approach_frequency(run, event, period, now);
	run->sampled_at = now;

	event->hw.last_period = period;
	perf_sample_data_init(&data, 0, period);
	must_stop = static_call(call_perf_event_overflow)(event, &data,
							  regs_of_sample(event,
									 regs));
	follow_ticks(run, event, now);
	if (has_throttled(event)) {
		run->is_throttled = false;
		hold_back(run, now);
	}
	return must_stop;
}
