// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "slots.h"

#include "hypercall.h"

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>

/**
 * struct cpu_area - a CPU's page and what is known of its host
 * @area: shared with the host
 * @is_set_up: the host knows @area, as far as we know
 * @usable: set of the slots that the host accepts
 * @min_period: smallest sample period that the host accepts
 * @used_at: jiffies at the last operation
 *
 * Used by its own CPU only.
 */
struct cpu_area {
	struct kvm_pvperf_area *area;
	bool is_set_up;
	u32 usable;
	u64 min_period;
	unsigned long used_at;
};

static DEFINE_PER_CPU(struct cpu_area, cpu_areas);

/* No area is to be set up any more: this kernel ends. */
static bool is_closed;

static u32 query_usable(void)
{
	long slots = hypercall(KVM_PVPERF_OP_QUERY, KVM_PVPERF_QUERY_SLOTS,
			       0, 0);

	if (slots < 1 || slots > KVM_PVPERF_SLOTS)
		return 0;
	return GENMASK(slots - 1, 0);
}

static u64 query_min_period(void)
{
	long period = hypercall(KVM_PVPERF_OP_QUERY,
				KVM_PVPERF_QUERY_MIN_PERIOD, 0, 0);

	return period < 1 ? 1 : period;
}

bool slots_can_sample(void)
{
	long capabilities = hypercall(KVM_PVPERF_OP_QUERY,
				      KVM_PVPERF_QUERY_CAPS, 0, 0);

	return capabilities > 0 && capabilities & KVM_PVPERF_CAP_PMI;
}

void slots_free(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		free_page((unsigned long)per_cpu(cpu_areas, cpu).area);
		per_cpu(cpu_areas, cpu).area = NULL;
	}
}

/* For all CPUs that may ever come: events outlive a CPU's going offline. */
int slots_alloc(void)
{
	u32 usable = query_usable();
	struct cpu_area *this;
	int cpu;

	for_each_possible_cpu(cpu) {
		this = per_cpu_ptr(&cpu_areas, cpu);
		this->usable = usable;
		this->area = (void *)get_zeroed_page(GFP_KERNEL);
		if (!this->area) {
			slots_free();
			return -ENOMEM;
		}
	}
	return 0;
}

static int error_of_answer(long answer)
{
	switch (answer) {
	case 0:
		return 0;
	case -KVM_PVPERF_EACCES:
		return -EACCES;
	case -KVM_PVPERF_ENOMEM:
		return -ENOMEM;
	case -KVM_PVPERF_EOPNOTSUPP:
		return -EOPNOTSUPP;
	default:
		return -ENOENT;
	}
}

/**
 * slots_check() - could the host count this?
 * @event: what is wanted
 *
 * Return: 0, -ENOENT, -EACCES, -EOPNOTSUPP or -ENOMEM.
 */
int slots_check(const struct event_description *event)
{
	return error_of_answer(hypercall(KVM_PVPERF_OP_CHECK,
					 event->type | event->flags << 8,
					 lower_32_bits(event->config),
					 upper_32_bits(event->config)));
}

/* Whatever a kernel before this one left behind, or this module would leave. */
void slots_reset(void)
{
	struct cpu_area *this = this_cpu_ptr(&cpu_areas);

	hypercall(KVM_PVPERF_OP_RESET, 0, 0, 0);
	this->is_set_up = false;
}

/* For any context: how many events can be on one CPU at once. */
unsigned int slots_group_limit(void)
{
	return hweight32(raw_cpu_read(cpu_areas.usable));
}

void slots_close(void)
{
	WRITE_ONCE(is_closed, true);
}

u32 slots_usable(void)
{
	return this_cpu_read(cpu_areas.usable);
}

bool slots_describes(unsigned int id, const struct event_description *event)
{
	const struct kvm_pvperf_request *request =
		&this_cpu_read(cpu_areas.area)->slots[id].request;

	return request->type == event->type &&
	       request->flags == event->flags &&
	       request->config == event->config;
}

void slots_describe(unsigned int id, const struct event_description *event)
{
	struct kvm_pvperf_request *request =
		&this_cpu_read(cpu_areas.area)->slots[id].request;

	request->type = event->type;
	request->flags = event->flags;
	request->config = event->config;
	request->period = 0;
	request->left = 0;
}

/* For the next START of a sampling event. */
void slots_plan_run(unsigned int id, u64 period, u64 left)
{
	struct kvm_pvperf_request *request =
		&this_cpu_read(cpu_areas.area)->slots[id].request;

	request->period = period;
	request->left = left;
}

u64 slots_min_period(void)
{
	return this_cpu_read(cpu_areas.min_period);
}

unsigned long slots_used_at(void)
{
	return this_cpu_read(cpu_areas.used_at);
}

static int set_up(struct cpu_area *this)
{
	struct kvm_pvperf_header *header = &this->area->header;
	u64 address = virt_to_phys(this->area);

	header->magic = KVM_PVPERF_AREA_MAGIC;
	header->version = KVM_PVPERF_ABI_VERSION;
	header->header_size = sizeof(struct kvm_pvperf_header);
	header->slot_size = sizeof(struct kvm_pvperf_slot);
	header->slot_count = KVM_PVPERF_SLOTS;

	if (READ_ONCE(is_closed))
		return -ENODEV;

	if (hypercall(KVM_PVPERF_OP_SETUP, lower_32_bits(address),
		      upper_32_bits(address), 0))
		return -ENODEV;

	this->usable = query_usable();
	this->min_period = query_min_period();
	this->is_set_up = true;
	return 0;
}

/**
 * slots_operate() - one operation of the host on a set of slots
 * @operation: OPEN, CLOSE, START, STOP or READ
 * @set: slots that the host accepts
 *
 * Return: 0; -ESTALE if the host knew nothing of this CPU (first use, live
 * migration, restored snapshot, host module reloaded): it does now, nothing is
 * open, and all runs are lost; -ENODEV if there is no host to be had.
 *
 * An NMI handler must not call it while the code that it interrupts may be inside:
 * each would pass the other's sequence.
 */
int slots_operate(enum kvm_pvperf_op operation, u32 set)
{
	struct cpu_area *this = this_cpu_ptr(&cpu_areas);
	u32 sequence = READ_ONCE(this->area->header.sequence);

	this->used_at = jiffies;
	if (this->is_set_up && !hypercall(operation, set, sequence, 0))
		return 0;

	this->is_set_up = false;
	return set_up(this) ? -ENODEV : -ESTALE;
}

/* The host writes inside a hypercall of this CPU only. */
void slots_copy_report(unsigned int id, struct kvm_pvperf_report *report)
{
	*report = this_cpu_read(cpu_areas.area)->slots[id].report;
}
