// SPDX-License-Identifier: GPL-2.0
/*
 * Overflows: who notices that a sampling event has counted through its period,
 * and who then tells perf of it, at once or late.
 *
 * An overflow is noticed where the count grows: at a port write and at the end of
 * a stay in guest mode.  For time, a timer sees to it that one of these comes when
 * the overflow is due, or, where host time is counted, notices it itself.
 *
 * Neither a stop nor a read is such a place: what a stop sees first is dropped.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <asm/apic.h>
#include <asm/irq_regs.h>
#include <asm/nmi.h>
#include <compat/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include "test-pmu.h"

/* A guest that is left again before it has executed anything never gets on. */
#define SHORTEST_WAIT_NS	(100 * NSEC_PER_USEC)
#define LONGEST_WAIT_NS		NSEC_PER_SEC

/* How an overflow that has been noticed is told to perf: parameter "late". */
enum way {
	WAY_AT_ONCE,
	WAY_NMI,
	WAY_TIMER,
	WAYS,
	WAY_ANY = WAYS,
};

static unsigned int late = WAY_AT_ONCE;

static int set_late(const char *text, const struct kernel_param *parameter)
{
	return param_set_uint_minmax(text, parameter, WAY_AT_ONCE, WAY_ANY);
}

static const struct kernel_param_ops late_ops = {
	.set = set_late,
	.get = param_get_uint,
};

module_param_cb(late, &late_ops, &late, 0644);
MODULE_PARM_DESC(late,
		 "overflows: 0 at once, 1 by NMI, 2 by timer, 3 any of these (default 0)");

static unsigned int late_ns = 20000;
module_param(late_ns, uint, 0644);
MODULE_PARM_DESC(late_ns, "delay of overflows by timer (default 20000)");

static unsigned int least_period;
module_param(least_period, uint, 0644);
MODULE_PARM_DESC(least_period,
		 "shortest sample period that is taken, in events (default 0: any)");

int overflow_check_period(struct perf_event *event, u64 period)
{
	return period < READ_ONCE(least_period) ? -EINVAL : 0;
}

/**
 * struct overflows - overflows of one CPU that perf will be told of late
 * @waiting: the way, for each counter; WAY_AT_ONCE if it has no such overflow.
 * @due: when, for those that wait for @timer.
 * @timer: tells perf.
 * @nmi_sent: an NMI is on its way.  Never two, since CPUs merge them.
 * @random: state of the choice for WAY_ANY.
 */
struct overflows {
	enum way waiting[TEST_PMU_MAX_COUNTERS];
	ktime_t due[TEST_PMU_MAX_COUNTERS];
	struct hrtimer timer;
	bool nmi_sent;
	struct rnd_state random;
};

static DEFINE_PER_CPU(struct overflows, overflows);

/* Ends stays in guest mode, and notices overflows of host time. */
static DEFINE_PER_CPU(struct hrtimer, time_timer);

static int (*event_overflow)(struct perf_event *event,
			     struct perf_sample_data *data,
			     struct pt_regs *regs);

static bool is_running(const struct perf_event *event)
{
	return !(event->hw.state & PERF_HES_STOPPED);
}

static void tell_perf(struct perf_event *event, struct pt_regs *regs,
		      enum statistic way)
{
	struct perf_sample_data data;

	counter_update(event);
	if (!counter_next_period(event))
		return;

	perf_sample_data_init(&data, 0, event->hw.last_period);
	statistic_count(way);
	if (event_overflow(event, &data, regs)) {
		statistic_count(STATISTIC_THROTTLES);
		if (is_running(event))
			counter_stop(event);
	}
}

static enum way choose_way(void)
{
	enum way way = READ_ONCE(late);

	if (way != WAY_ANY)
		return way;
	return prandom_u32_state(this_cpu_ptr(&overflows.random)) % WAYS;
}

static void send_nmi(void)
{
	if (!this_cpu_xchg(overflows.nmi_sent, true))
		apic->send_IPI(smp_processor_id(), NMI_VECTOR);
}

static void start_late_timer(void)
{
	struct overflows *mine = this_cpu_ptr(&overflows);
	struct counter_set *set = this_cpu_ptr(&counter_sets);
	ktime_t first = KTIME_MAX;
	unsigned long idx;

	for_each_set_bit(idx, set->used, TEST_PMU_MAX_COUNTERS)
		if (mine->waiting[idx] == WAY_TIMER)
			first = min(first, mine->due[idx]);
	if (first != KTIME_MAX)
		hrtimer_start(&mine->timer, first,
			      HRTIMER_MODE_ABS_PINNED_HARD);
}

static void notice(struct perf_event *event, struct pt_regs *regs)
{
	struct overflows *mine = this_cpu_ptr(&overflows);
	int idx = event->hw.idx;

	if (!is_running(event) || mine->waiting[idx] != WAY_AT_ONCE)
		return;
	counter_update(event);
	if (local64_read(&event->hw.period_left) > 0)
		return;

	switch (choose_way()) {
	case WAY_NMI:
		mine->waiting[idx] = WAY_NMI;
		send_nmi();
		break;
	case WAY_TIMER:
		mine->due[idx] = ktime_add_ns(ktime_get(), READ_ONCE(late_ns));
		mine->waiting[idx] = WAY_TIMER;
		start_late_timer();
		break;
	default:
		tell_perf(event, regs, STATISTIC_OVERFLOWS_AT_ONCE);
		break;
	}
}

static void notice_all(enum event_source source, struct pt_regs *regs)
{
	struct counter_set *set = this_cpu_ptr(&counter_sets);
	unsigned long idx;

	for_each_set_bit(idx, set->sampling[source], TEST_PMU_MAX_COUNTERS)
		notice(set->events[idx], regs);
}

/* Tells perf of an overflow that has waited for it, if its event still runs. */
static void tell_late(struct perf_event *event, struct pt_regs *regs,
		      enum statistic way)
{
	this_cpu_write(overflows.waiting[event->hw.idx], WAY_AT_ONCE);
	if (is_running(event))
		tell_perf(event, regs, way);
}

static int nmi_came(unsigned int type, struct pt_regs *regs)
{
	struct overflows *mine = this_cpu_ptr(&overflows);
	struct counter_set *set = this_cpu_ptr(&counter_sets);
	unsigned long idx;

	if (!this_cpu_xchg(overflows.nmi_sent, false))
		return NMI_DONE;

	for_each_set_bit(idx, set->used, TEST_PMU_MAX_COUNTERS)
		if (mine->waiting[idx] == WAY_NMI)
			tell_late(set->events[idx], regs,
				  STATISTIC_OVERFLOWS_LATE_NMI);
	return NMI_HANDLED;
}
NOKPROBE_SYMBOL(nmi_came);

static enum hrtimer_restart late_timer_fired(struct hrtimer *timer)
{
	struct overflows *mine = this_cpu_ptr(&overflows);
	struct counter_set *set = this_cpu_ptr(&counter_sets);
	ktime_t now = ktime_get();
	unsigned long idx;

	for_each_set_bit(idx, set->used, TEST_PMU_MAX_COUNTERS)
		if (mine->waiting[idx] == WAY_TIMER && mine->due[idx] <= now)
			tell_late(set->events[idx], get_irq_regs(),
				  STATISTIC_OVERFLOWS_LATE_TIMER);
	start_late_timer();
	return HRTIMER_NORESTART;
}

/*
 * Makes the timer fire no later than the next overflow of a time event that
 * counts in this mode.  It may fire early, or once more when there is no such
 * event any longer: nobody minds.
 */
static void start_time_timer(bool guest_mode)
{
	struct hrtimer *timer = this_cpu_ptr(&time_timer);
	struct counter_set *set = this_cpu_ptr(&counter_sets);
	struct perf_event *event;
	u64 wait = U64_MAX;
	unsigned long idx;

	for_each_set_bit(idx, set->sampling[SOURCE_TIME],
			 TEST_PMU_MAX_COUNTERS) {
		event = set->events[idx];
		if (!is_running(event) ||
		    (!guest_mode && !event_counts_host(event)))
			continue;
		counter_update(event);
		wait = min(wait, event_time_left(event));
	}
	if (wait == U64_MAX)
		return;

	wait = clamp(wait, (u64)SHORTEST_WAIT_NS, (u64)LONGEST_WAIT_NS);
	if (hrtimer_is_queued(timer) &&
	    ktime_to_ns(hrtimer_get_remaining(timer)) <= (s64)wait)
		return;
	hrtimer_start(timer, ns_to_ktime(wait), HRTIMER_MODE_REL_PINNED_HARD);
}

static enum hrtimer_restart time_timer_fired(struct hrtimer *timer)
{
	notice_all(SOURCE_TIME, get_irq_regs());
	start_time_timer(false);
	return HRTIMER_NORESTART;
}

void overflow_forget(struct perf_event *event)
{
	this_cpu_write(overflows.waiting[event->hw.idx], WAY_AT_ONCE);
}

/* In an NMI, perf adjusts the period of an event that it was told of. */
void overflow_start_timer(struct perf_event *event)
{
	if (event_source(event) == SOURCE_TIME && !in_nmi())
		start_time_timer(false);
}

void overflow_guest_mode_begins(void)
{
	start_time_timer(true);
}

void overflow_guest_mode_ended(struct pt_regs *regs)
{
	notice_all(SOURCE_TIME, regs);
}

void overflow_port_written(struct pt_regs *regs)
{
	notice_all(SOURCE_PORT_WRITES, regs);
}

/* Modules are not given this function, but may ask where it is. */
static int find_event_overflow(void)
{
	struct kprobe locator = {
		.symbol_name = "perf_event_overflow",
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err = register_kprobe(&locator);

	if (err)
		return err;
	event_overflow = (void *)locator.addr;
	unregister_kprobe(&locator);
	return 0;
}

static void init_timer(struct hrtimer *timer,
		       enum hrtimer_restart (*function)(struct hrtimer *timer))
{
	compat_hrtimer_setup(timer, function, CLOCK_MONOTONIC,
			     HRTIMER_MODE_REL_PINNED_HARD);
}

int overflow_init(void)
{
	int cpu, err;

	err = find_event_overflow();
	if (err) {
		pr_err("no perf_event_overflow: %d\n", err);
		return err;
	}

	for_each_possible_cpu(cpu) {
		init_timer(per_cpu_ptr(&time_timer, cpu), time_timer_fired);
		init_timer(per_cpu_ptr(&overflows.timer, cpu),
			   late_timer_fired);
		prandom_seed_state(per_cpu_ptr(&overflows.random, cpu), cpu);
	}
	return register_nmi_handler(NMI_LOCAL, nmi_came, 0, KBUILD_MODNAME);
}

void overflow_exit(void)
{
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
}
