// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "event_policy.h"
#include "parameter.h"

#include <compat/kvm_event_filter.h>
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <uapi/linux/kvm_pvperf.h>

static unsigned int max_events = KVM_PVPERF_SLOTS;

static int set_max_events(const char *value, const struct kernel_param *param)
{
	return parameter_set_uint(value, param, 1, KVM_PVPERF_SLOTS);
}

static const struct kernel_param_ops max_events_ops = {
	.set = set_max_events,
	.get = param_get_uint,
};

module_param_cb(max_events, &max_events_ops, &max_events, 0644);
MODULE_PARM_DESC(max_events,
		 "events that one vCPU may have open, 1 to 32 (default 32); for vCPUs that set up from now on");

static unsigned int max_events_total = 4096;

static int set_max_events_total(const char *value,
				const struct kernel_param *param)
{
	return parameter_set_uint(value, param, 0, INT_MAX);
}

static const struct kernel_param_ops max_events_total_ops = {
	.set = set_max_events_total,
	.get = param_get_uint,
};

module_param_cb(max_events_total, &max_events_total_ops, &max_events_total,
		0644);
MODULE_PARM_DESC(max_events_total,
		 "events that all vCPUs of this host together may have open (default 4096); those already open stay");

static unsigned int min_period = 1;

static int set_min_period(const char *value, const struct kernel_param *param)
{
	return parameter_set_uint(value, param, 1, INT_MAX);
}

static const struct kernel_param_ops min_period_ops = {
	.set = set_min_period,
	.get = param_get_uint,
};

module_param_cb(min_period, &min_period_ops, &min_period, 0644);
MODULE_PARM_DESC(min_period,
		 "smallest sample period that guests may ask for, in events (default 1: the host's kernel.perf_event_max_sample_rate bounds the interrupts); for runs that start from now on");

static bool allow_raw;

/* "allow_raw" alone on modprobe's command line means Y, as for any bool. */
static const struct kernel_param_ops allow_raw_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = parameter_set_bool,
	.get = param_get_bool,
};

module_param_cb(allow_raw, &allow_raw_ops, &allow_raw, 0644);
MODULE_PARM_DESC(allow_raw,
		 "let guests open raw events that KVM's event filter of their VM allows (default N); those already open stay");

static atomic_t events_open = ATOMIC_INIT(0);

static int get_events_open(char *buffer, const struct kernel_param *param)
{
	return scnprintf(buffer, PAGE_SIZE, "%d\n", atomic_read(&events_open));
}

static const struct kernel_param_ops events_open_ops = {
	.get = get_events_open,
};

module_param_cb(events_open, &events_open_ops, NULL, 0444);
MODULE_PARM_DESC(events_open, "host events that are open for guests now");

unsigned int event_policy_slots(void)
{
	return READ_ONCE(max_events);
}

unsigned int event_policy_min_period(void)
{
	return READ_ONCE(min_period);
}

void event_policy_give_back(void)
{
	atomic_dec(&events_open);
}

/* Two vCPUs that race for the last one may both be refused; never both let in. */
bool event_policy_take(void)
{
	if ((unsigned int)atomic_inc_return(&events_open) <=
	    READ_ONCE(max_events_total))
		return true;

	event_policy_give_back();
	return false;
}

static bool hw_cache_config_is_valid(u64 config)
{
	return (config & 0xff) < PERF_COUNT_HW_CACHE_MAX &&
	       ((config >> 8) & 0xff) < PERF_COUNT_HW_CACHE_OP_MAX &&
	       ((config >> 16) & 0xff) < PERF_COUNT_HW_CACHE_RESULT_MAX &&
	       !(config >> 24);
}

/*
 * What selects an event, on either vendor's CPUs, and nothing else: one of the
 * other bits has Intel's CPUs count for the other hyperthread too, which may run
 * another VM.
 */
static bool raw_config_is_valid(u64 config)
{
	return !(config & ~AMD64_RAW_EVENT_MASK);
}

/**
 * event_policy_check() - may this VM count this event?
 * @kvm: the VM of the running vCPU
 * @event: what it asks for
 *
 * The upper half of a generic event's config names a PMU of the host: guests
 * have no business there, so it must be zero.
 *
 * Return: 0; -ENOENT for what is no event at all; -EACCES for what the
 * administrator or the VMM forbids.
 */
int event_policy_check(struct kvm *kvm, const struct event_description *event)
{
	switch (event->type) {
	case KVM_PVPERF_TYPE_HARDWARE:
		return event->config < PERF_COUNT_HW_MAX ? 0 : -ENOENT;
	case KVM_PVPERF_TYPE_HW_CACHE:
		return hw_cache_config_is_valid(event->config) ? 0 : -ENOENT;
	case KVM_PVPERF_TYPE_RAW:
		if (!raw_config_is_valid(event->config))
			return -ENOENT;
		if (!READ_ONCE(allow_raw))
			return -EACCES;
		return compat_kvm_event_filter_allows(kvm, event->config) ?
			0 : -EACCES;
	default:
		return -ENOENT;
	}
}
