// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the sampling half of docs/abi.md by hypercalls of a guest that has no
 * kernel, in the host VM with the test PMU.
 *
 * The guest has no handler either, so it blocks NMIs and interrupts: what its
 * local APIC is given stays pending, and is looked at from outside.
 */
#include <err.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "abi-machine.h"
#include "common.h"
#include "host-kernel.h"
#include "tap.h"
#include "module-parameter.h"

#define SAMPLING		KVM_PVPERF_FLAG_SAMPLING
#define LONGEST_PERIOD		((1ULL << 63) - 1)

/* Registers of the local APIC, and values of two of them. */
#define APIC_SPURIOUS		0xf0
#define APIC_IRR		0x200
#define APIC_LVTPC		0x340
#define SPURIOUS_ENABLED	0x1ff
#define LVTPC_NMI		0x400
#define LVTPC_VECTOR		0x51
#define LVTPC_MASKED		0x10000

/* Late enough for the hypercalls that are to be faster. */
#define LATE_NS			NSEC_PER_SEC

/* In samples per second; more than any machine of ours takes. */
#define NO_LIMIT		100000000
/* At least one per tick, so that the kernel rounds it up to twice that at most. */
#define LOW_LIMIT		1000

static const char usage[] =
"usage: abi-sampling [-m PERIOD | -u]\n"
"  -m PERIOD  the host's smallest period (default 1)\n"
"  -u         sample until nobody serves the interface any more\n"
"Prints results in the Test Anything Protocol.\n";

static void request_samples(struct machine *machine, int slot, uint64_t config,
			    uint64_t period, uint64_t left)
{
	request(machine, slot, HARDWARE, config, SAMPLING);
	machine->area->slots[slot].request.period = period;
	machine->area->slots[slot].request.left = left;
}

static void vcpu_ioctl(struct machine *machine, unsigned long request,
		       void *argument, const char *name)
{
	if (ioctl(kvm_guest_vcpu_fd(machine->vcpu), request, argument))
		err(EXIT_FAILURE, "%s", name);
}

static uint32_t *apic_register(struct kvm_lapic_state *apic, int offset)
{
	return (uint32_t *)&apic->regs[offset];
}

/* Forgets interrupts that are pending. */
static void program_lvtpc(struct machine *machine, uint32_t value)
{
	struct kvm_lapic_state apic;

	vcpu_ioctl(machine, KVM_GET_LAPIC, &apic, "KVM_GET_LAPIC");
	*apic_register(&apic, APIC_SPURIOUS) = SPURIOUS_ENABLED;
	*apic_register(&apic, APIC_LVTPC) = value;
	*apic_register(&apic, APIC_IRR + LVTPC_VECTOR / 32 * 16) = 0;
	vcpu_ioctl(machine, KVM_SET_LAPIC, &apic, "KVM_SET_LAPIC");
}

static bool vector_is_pending(struct machine *machine)
{
	struct kvm_lapic_state apic;

	vcpu_ioctl(machine, KVM_GET_LAPIC, &apic, "KVM_GET_LAPIC");
	return *apic_register(&apic, APIC_IRR + LVTPC_VECTOR / 32 * 16) &
	       1U << LVTPC_VECTOR % 32;
}

/* Forgets an NMI that is pending, and blocks others; was there one? */
static bool take_nmi(struct machine *machine)
{
	struct kvm_vcpu_events events;
	bool was_pending;

	vcpu_ioctl(machine, KVM_GET_VCPU_EVENTS, &events,
		   "KVM_GET_VCPU_EVENTS");
	was_pending = events.nmi.pending;
	events.nmi.pending = 0;
	events.nmi.masked = 1;
	vcpu_ioctl(machine, KVM_SET_VCPU_EVENTS, &events,
		   "KVM_SET_VCPU_EVENTS");
	return was_pending;
}

/* From now on PMIs are NMIs, of which none is pending. */
static void await_nmi(struct machine *machine)
{
	program_lvtpc(machine, LVTPC_NMI);
	take_nmi(machine);
}

static struct machine new_sampling_machine(void)
{
	struct machine machine = new_machine(KVM_GUEST_IRQCHIP);

	await_nmi(&machine);
	return machine;
}

/* By the rule of docs/abi.md, section 8. */
static uint32_t overflows_of(uint64_t period, uint64_t left, uint64_t count)
{
	return count < left ? 0 : 1 + (count - left) / period;
}

/* By the request, which is still that of the run. */
static void expect_overflows(struct machine *machine, int slot,
			     const char *what)
{
	const struct kvm_pvperf_request *asked =
		&machine->area->slots[slot].request;
	uint64_t count = report(machine, slot)->count;

	tap_equal(report(machine, slot)->overflows,
		  overflows_of(asked->period, asked->left, count),
		  "%s: overflows of period %llu with left %llu at %llu", what,
		  (unsigned long long)asked->period,
		  (unsigned long long)asked->left, (unsigned long long)count);
}

static void expect_overflowed(const struct machine *machine, uint32_t set,
			      const char *what)
{
	tap_equal(machine->area->header.overflowed, set, "%s: overflowed",
		  what);
}

static int64_t check(struct machine *machine, uint64_t config, uint32_t flags)
{
	return call(machine, KVM_PVPERF_OP_CHECK, HARDWARE | flags << 8,
		    config, 0);
}

static void test_queries(struct machine *machine, uint64_t min_period)
{
	tap_equal(call(machine, KVM_PVPERF_OP_QUERY, KVM_PVPERF_QUERY_CAPS, 0,
		       0) & KVM_PVPERF_CAP_PMI, KVM_PVPERF_CAP_PMI,
		  "PMIs with a local APIC in the kernel");
	tap_equal(call(machine, KVM_PVPERF_OP_QUERY,
		       KVM_PVPERF_QUERY_MIN_PERIOD, 0, 0), min_period,
		  "the smallest period");
	tap_equal(check(machine, BUS_CYCLES, SAMPLING), 0, "CHECK");
	tap_equal(check(machine, STALLED_CYCLES, SAMPLING), -KVM_PVPERF_ENOENT,
		  "CHECK of stalled cycles");
	tap_equal(check(machine, BUS_CYCLES, SAMPLING | 8), -KVM_PVPERF_EINVAL,
		  "CHECK with an undefined flag");
}

static void test_without_apic(void)
{
	struct machine machine = new_machine(0);

	tap_equal(call(&machine, KVM_PVPERF_OP_QUERY, KVM_PVPERF_QUERY_CAPS, 0,
		       0) & KVM_PVPERF_CAP_PMI, 0,
		  "no PMIs without a local APIC in the kernel");
	tap_equal(call(&machine, KVM_PVPERF_OP_QUERY,
		       KVM_PVPERF_QUERY_MIN_PERIOD, 0, 0), 0,
		  "no smallest period without PMIs");
	tap_equal(check(&machine, BUS_CYCLES, SAMPLING),
		  -KVM_PVPERF_EOPNOTSUPP, "CHECK without PMIs");
	tap_equal(check(&machine, STALLED_CYCLES, SAMPLING),
		  -KVM_PVPERF_EOPNOTSUPP,
		  "CHECK of stalled cycles without PMIs");
	tap_equal(check(&machine, BUS_CYCLES, SAMPLING | 8),
		  -KVM_PVPERF_EINVAL,
		  "CHECK with an undefined flag without PMIs");

	set_up(&machine);
	request_samples(&machine, 0, BUS_CYCLES, 1, 1);
	request(&machine, 1, HARDWARE, BUS_CYCLES, 0);
	act_well(&machine, KVM_PVPERF_OP_OPEN, 3, "OPEN without PMIs");
	expect_report(&machine, 0, KVM_PVPERF_STATE_UNSUPPORTED, 0,
		      "opened without PMIs");
	act_well(&machine, KVM_PVPERF_OP_START, 3, "START without PMIs");
	expect_report(&machine, 0, KVM_PVPERF_STATE_UNSUPPORTED, 0,
		      "started without PMIs");
	tap_equal(machine.area->header.running, 2,
		  "only what does not sample runs without PMIs");
	write_port(&machine, 10);
	act_well(&machine, KVM_PVPERF_OP_STOP, 3, "STOP without PMIs");
	expect_report(&machine, 0, KVM_PVPERF_STATE_UNSUPPORTED, 0,
		      "stopped without PMIs");
	expect_report(&machine, 1, KVM_PVPERF_STATE_STOPPED, 10,
		      "what does not sample counts without PMIs");
	expect_overflowed(&machine, 0, "without PMIs");
	kvm_guest_destroy(machine.guest);
}

static void test_requests(struct machine *machine, uint64_t min_period)
{
	const uint64_t high = 1ULL << 63;
	const struct {
		const char *what;
		uint32_t flags;
		uint64_t period;
		uint64_t left;
		bool is_valid;
	} requests[] = {
		{ "all zero", SAMPLING, 0, 0, false },
		{ "period 0", SAMPLING, 0, 1, false },
		{ "left 0", SAMPLING, min_period, 0, false },
		{ "left of more than the period", SAMPLING, 1000, 1001, false },
		{ "left 2^63", SAMPLING, 1000, high, false },
		{ "period 2^63", SAMPLING, high, 1, false },
		{ "both 2^63", SAMPLING, high, high, false },
		{ "period 2^64 - 1", SAMPLING, UINT64_MAX, 1, false },
		{ "period and left without sampling", 0, 1000, 1000, false },
		{ "period without sampling", 0, 1000, 0, false },
		{ "left without sampling", 0, 0, 1, false },
		{ "less than the smallest period", SAMPLING, min_period - 1,
		  1, false },
		{ "the smallest period", SAMPLING, min_period, min_period,
		  true },
		{ "the smallest left", SAMPLING, min_period, 1, true },
		{ "the longest period", SAMPLING, LONGEST_PERIOD,
		  LONGEST_PERIOD, true },
		{ "no period without sampling", 0, 0, 0, true },
	};
	size_t i;

	set_up(machine);
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		request(machine, 1, HARDWARE, BUS_CYCLES, requests[i].flags);
		machine->area->slots[1].request.period = requests[i].period;
		machine->area->slots[1].request.left = requests[i].left;

		act_well(machine, KVM_PVPERF_OP_OPEN, 3, requests[i].what);
		tap_equal(report(machine, 1)->state, requests[i].is_valid ?
			  KVM_PVPERF_STATE_STOPPED : KVM_PVPERF_STATE_INVALID,
			  "%s: opened", requests[i].what);
		act_well(machine, KVM_PVPERF_OP_START, 3, requests[i].what);
		expect_report(machine, 1, requests[i].is_valid ?
			      KVM_PVPERF_STATE_RUNNING :
			      KVM_PVPERF_STATE_INVALID, 0, requests[i].what);
		tap_equal(machine->area->header.running,
			  requests[i].is_valid ? 3 : 1, "%s: running",
			  requests[i].what);
		write_port(machine, 3);
		act_well(machine, KVM_PVPERF_OP_STOP, 3, requests[i].what);
		expect_report(machine, 1, requests[i].is_valid ?
			      KVM_PVPERF_STATE_STOPPED :
			      KVM_PVPERF_STATE_INVALID,
			      requests[i].is_valid ? 3 : 0, requests[i].what);
		if (requests[i].flags && requests[i].is_valid)
			expect_overflows(machine, 1, requests[i].what);
	}

	request_samples(machine, 1, BUS_CYCLES, 1000, 1000);
	act_well(machine, KVM_PVPERF_OP_START, 2, "START of a good request");
	request_samples(machine, 1, BUS_CYCLES, 1000, 1001);
	act_well(machine, KVM_PVPERF_OP_OPEN, 2, "OPEN with too much left");
	expect_report(machine, 1, KVM_PVPERF_STATE_INVALID, 0,
		      "OPEN looks at what is left, too");
}

static void test_overflows(struct machine *machine, enum way way)
{
	static const struct {
		uint64_t period, left;
		uint32_t writes[3];
	} cases[] = {
		{ 1, 1, { 1, 1, 20 } },
		{ 7, 7, { 6, 1, 50 } },
		{ 7, 1, { 1, 6, 8 } },
		{ 7, 3, { 2, 1, 7 } },
		{ 1000, 1000, { 999, 1, 1500 } },
		{ 1000, 1, { 1, 1, 999 } },
		{ 1000, 999, { 998, 1, 1000 } },
		{ LONGEST_PERIOD, 5, { 4, 1, 100 } },
		{ LONGEST_PERIOD, LONGEST_PERIOD, { 10, 10, 10 } },
	};
	const struct kvm_pvperf_report *run;
	struct kvm_pvperf_request *asked;
	uint64_t count;
	size_t i;

	set_test_pmu_parameter("late", way);
	set_test_pmu_parameter("late_ns", NSEC_PER_MSEC);
	set_up(machine);
	asked = &machine->area->slots[4].request;
	run = report(machine, 4);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		request_samples(machine, 4, BUS_CYCLES, cases[i].period,
				cases[i].left);
		act_well(machine, KVM_PVPERF_OP_START, 1 << 4, "START");
		expect_report(machine, 4, KVM_PVPERF_STATE_RUNNING, 0, "START");
		expect_overflows(machine, 4, "START");
		count = cases[i].writes[0];
		write_port(machine, cases[i].writes[0]);
		act_well(machine, KVM_PVPERF_OP_READ, 1 << 4, "READ");
		expect_report(machine, 4, KVM_PVPERF_STATE_RUNNING, count,
			      "READ");
		expect_overflows(machine, 4, "READ");
		count += cases[i].writes[1];
		write_port(machine, cases[i].writes[1]);
		act_well(machine, KVM_PVPERF_OP_OPEN, 1 << 4, "OPEN");
		expect_report(machine, 4, KVM_PVPERF_STATE_RUNNING, count,
			      "OPEN");
		expect_overflows(machine, 4, "OPEN");
		count += cases[i].writes[2];
		write_port(machine, cases[i].writes[2]);
		act_well(machine, KVM_PVPERF_OP_STOP, 1 << 4, "STOP");
		expect_report(machine, 4, KVM_PVPERF_STATE_STOPPED, count,
			      "STOP");
		expect_overflows(machine, 4, "STOP");
		act_well(machine, KVM_PVPERF_OP_READ, 1 << 4,
			 "READ after STOP");
		expect_overflows(machine, 4, "READ after STOP");

		asked->left += run->overflows * asked->period - run->count;
		act_well(machine, KVM_PVPERF_OP_START, 1 << 4,
			 "START with what is left");
		write_port(machine, 10);
		act_well(machine, KVM_PVPERF_OP_STOP, 1 << 4,
			 "STOP of what was left");
		expect_report(machine, 4, KVM_PVPERF_STATE_STOPPED, 10,
			      "what was left");
		expect_overflows(machine, 4, "what was left");
	}
	set_test_pmu_parameter("late", AT_ONCE);
	take_nmi(machine);
}

/* Makes the one write that is to overflow, after @before that are not. */
static void expect_pmi_after(struct machine *machine, uint32_t before,
			     const char *what)
{
	act_well(machine, KVM_PVPERF_OP_READ, 0, what);
	await_nmi(machine);
	write_port(machine, before);
	tap_ok(!take_nmi(machine), "%s: no PMI before the overflow", what);
	write_port(machine, 1);
	tap_ok(take_nmi(machine), "%s: a PMI with the overflow", what);
}

static void test_moments(struct machine *machine)
{
	uint64_t created;

	set_up(machine);
	request_samples(machine, 0, BUS_CYCLES, 100, 30);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START with a part left");
	expect_pmi_after(machine, 29, "left 30");
	expect_pmi_after(machine, 99, "then a period of 100");
	act_well(machine, KVM_PVPERF_OP_READ, 1, "READ");
	expect_pmi_after(machine, 99, "another one, after READ");
	write_port(machine, 60);
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP in a period");
	expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, 290,
		      "stopped in a period");
	expect_overflows(machine, 0, "stopped in a period");

	request_samples(machine, 0, BUS_CYCLES, 100, 40);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START with the other part");
	expect_pmi_after(machine, 39, "left 40");
	expect_pmi_after(machine, 99, "then a period of 100 again");

	created = test_pmu_parameter("event_inits");
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP for another period");
	request_samples(machine, 0, BUS_CYCLES, 50, 20);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START with another period");
	expect_pmi_after(machine, 19, "another period: left 20");
	expect_pmi_after(machine, 49, "another period: 50");
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP with another period");
	expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, 70,
		      "another period");
	expect_overflows(machine, 0, "another period");
	tap_equal(test_pmu_parameter("event_inits"), created,
		  "another period needs no other event");

	request_samples(machine, 0, BUS_CYCLES, 50, 10);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START of a run to be lost");
	write_port(machine, 5);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START of the next run");
	expect_pmi_after(machine, 9, "nothing is left of the lost run");
	act_well(machine, KVM_PVPERF_OP_CLOSE, 1, "CLOSE");
	write_port(machine, 500);
	tap_ok(!take_nmi(machine), "no PMI after CLOSE");
}

static void test_lvtpc(struct machine *machine)
{
	set_up(machine);
	request_samples(machine, 0, BUS_CYCLES, 1, 1);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START");

	await_nmi(machine);
	write_port(machine, 1);
	tap_ok(take_nmi(machine), "LVTPC in NMI mode: an NMI");
	tap_ok(!vector_is_pending(machine), "LVTPC in NMI mode: no interrupt");

	act_well(machine, KVM_PVPERF_OP_READ, 1, "READ after an NMI");
	program_lvtpc(machine, LVTPC_VECTOR);
	write_port(machine, 1);
	tap_ok(vector_is_pending(machine),
	       "LVTPC with a vector: that interrupt");
	tap_ok(!take_nmi(machine), "LVTPC with a vector: no NMI");

	act_well(machine, KVM_PVPERF_OP_READ, 1, "READ after an interrupt");
	program_lvtpc(machine, LVTPC_NMI | LVTPC_MASKED);
	write_port(machine, 1);
	tap_ok(!take_nmi(machine), "LVTPC in NMI mode, masked: no NMI");
	act_well(machine, KVM_PVPERF_OP_READ, 1, "READ");
	expect_report(machine, 0, KVM_PVPERF_STATE_RUNNING, 3, "masked");
	expect_overflows(machine, 0, "masked");
	expect_overflowed(machine, 1, "masked");

	program_lvtpc(machine, LVTPC_VECTOR | LVTPC_MASKED);
	write_port(machine, 1);
	tap_ok(!vector_is_pending(machine),
	       "LVTPC with a vector, masked: no interrupt");

	await_nmi(machine);
	tap_ok(!take_nmi(machine), "what was masked is lost");
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP");
	expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, 4, "unmasked");
	expect_overflows(machine, 0, "unmasked");
	expect_overflowed(machine, 1, "unmasked");
	await_nmi(machine);
	act_well(machine, KVM_PVPERF_OP_READ, 1, "READ after STOP");
	expect_overflowed(machine, 0, "READ after STOP");
	tap_ok(!take_nmi(machine), "READ and STOP make no PMI");
}

/* A guest's handler is not interrupted again and again before it has asked. */
static void test_told_once(struct machine *machine)
{
	static const struct {
		uint64_t operation;
		uint32_t set;
		const char *what;
	} ends[] = {
		{ KVM_PVPERF_OP_READ, 1 << 0, "READ" },
		{ KVM_PVPERF_OP_READ, 0, "READ of nothing" },
		{ KVM_PVPERF_OP_STOP, 1 << 3, "STOP of another" },
		{ KVM_PVPERF_OP_START, 1 << 3, "START of another" },
	};
	size_t i;

	set_up(machine);
	request_samples(machine, 0, BUS_CYCLES, 10, 10);
	request_samples(machine, 1, BUS_CYCLES, 1000, 1000);
	request_samples(machine, 3, BUS_CYCLES, 1000, 1000);
	act_well(machine, KVM_PVPERF_OP_START, 1 << 0 | 1 << 1, "START");
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		expect_pmi_after(machine, 9, ends[i].what);
		await_nmi(machine);
		write_port(machine, 20);
		tap_ok(!take_nmi(machine), "before %s: no further PMI",
		       ends[i].what);
		act_well(machine, ends[i].operation, ends[i].set, ends[i].what);
		await_nmi(machine);
		write_port(machine, 10);
		tap_ok(take_nmi(machine), "after %s: a PMI", ends[i].what);
	}
	expect_pmi_after(machine, 9, "one slot");
	await_nmi(machine);
	write_port(machine, 1000 - 40 * ARRAY_SIZE(ends) - 10);
	tap_ok(take_nmi(machine), "another slot has its own PMI");
	act_well(machine, KVM_PVPERF_OP_CLOSE, 1 << 0, "CLOSE");
	request_samples(machine, 0, BUS_CYCLES, 10, 10);
	act_well(machine, KVM_PVPERF_OP_START, 1 << 0, "START after CLOSE");
	expect_pmi_after(machine, 9, "a new event");
	act_well(machine, KVM_PVPERF_OP_STOP, 0xf, "STOP of all");
	take_nmi(machine);
}

static void test_overflowed(struct machine *machine)
{
	set_up(machine);
	request_samples(machine, 0, BUS_CYCLES, 1, 1);
	request_samples(machine, 1, BUS_CYCLES, 10, 10);
	request_samples(machine, 2, BUS_CYCLES, 1000, 1000);
	request(machine, 3, HARDWARE, BUS_CYCLES, 0);

	act_well(machine, KVM_PVPERF_OP_START, 0xf, "START of all");
	expect_overflowed(machine, 0, "START of all");
	write_port(machine, 1);
	act_well(machine, KVM_PVPERF_OP_READ, 1 << 2, "READ of others");
	expect_overflowed(machine, 1 << 0, "READ of others");
	act_well(machine, KVM_PVPERF_OP_READ, 1 << 0, "another READ");
	expect_overflowed(machine, 0, "another READ");
	tap_equal(report(machine, 0)->overflows, 1,
		  "another READ: overflows of the run");

	write_port(machine, 9);
	act_well(machine, KVM_PVPERF_OP_STOP, 1 << 3, "STOP of another");
	expect_overflowed(machine, 1 << 0 | 1 << 1, "STOP of another");
	act_well(machine, KVM_PVPERF_OP_START, 1 << 3, "START after STOP");
	expect_overflowed(machine, 0, "START after STOP");
	write_port(machine, 1);
	act_well(machine, KVM_PVPERF_OP_START, 1 << 3, "START of another");
	expect_overflowed(machine, 1 << 0, "START of another");
	act_well(machine, KVM_PVPERF_OP_STOP, 1 << 3, "STOP after START");
	expect_overflowed(machine, 0, "STOP after START");

	write_port(machine, 1);
	act_well(machine, KVM_PVPERF_OP_OPEN, 0xf, "OPEN");
	expect_overflowed(machine, 0, "OPEN does not tell");
	act_well(machine, KVM_PVPERF_OP_CLOSE, 1 << 3, "CLOSE");
	expect_overflowed(machine, 0, "CLOSE does not tell");
	act_well(machine, KVM_PVPERF_OP_READ, 0, "READ of nothing");
	expect_overflowed(machine, 1 << 0, "READ of nothing tells all the same");
	act_well(machine, KVM_PVPERF_OP_OPEN, 0x7, "OPEN again");
	expect_overflowed(machine, 1 << 0, "OPEN leaves it");
	act_well(machine, KVM_PVPERF_OP_CLOSE, 1 << 3, "CLOSE again");
	expect_overflowed(machine, 1 << 0, "CLOSE leaves it");
	act_well(machine, KVM_PVPERF_OP_STOP, 0, "STOP of nothing");
	expect_overflowed(machine, 0, "STOP of nothing clears it");

	write_port(machine, 10);
	act_well(machine, KVM_PVPERF_OP_STOP, 0x7, "STOP of all");
	expect_overflowed(machine, 1 << 0 | 1 << 1, "STOP of all");
	act_well(machine, KVM_PVPERF_OP_STOP, 0x7, "STOP of all again");
	expect_overflowed(machine, 0, "STOP of all again");
	take_nmi(machine);
}

/* Returns whether the test PMU has told of one more overflow late. */
static bool wait_for_late_overflow(uint64_t before)
{
	uint64_t end = now() + 5 * LATE_NS;

	while (now() < end)
		if (test_pmu_parameter("overflows_late_timer") > before)
			return true;
	return false;
}

/* The interrupt of the host's PMU comes after a hypercall, or without one. */
static void test_late_overflows(struct machine *machine)
{
	uint64_t late = test_pmu_parameter("overflows_late_timer");

	set_test_pmu_parameter("late_ns", LATE_NS);
	set_test_pmu_parameter("late", BY_TIMER);
	set_up(machine);
	request_samples(machine, 0, BUS_CYCLES, 1, 1);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START, then late overflows");
	await_nmi(machine);

	write_port(machine, 1);
	act_well(machine, KVM_PVPERF_OP_READ, 1, "READ before the interrupt");
	expect_overflowed(machine, 1, "READ before the interrupt");
	expect_overflows(machine, 0, "READ before the interrupt");
	tap_ok(!take_nmi(machine), "READ before the interrupt makes no PMI");
	tap_ok(wait_for_late_overflow(late), "the interrupt comes");
	tap_ok(!take_nmi(machine),
	       "an overflow that READ has told of makes no PMI");
	act_well(machine, KVM_PVPERF_OP_READ, 1, "READ after that");
	expect_overflowed(machine, 0, "READ after that");

	late = test_pmu_parameter("overflows_late_timer");
	write_port(machine, 1);
	act_well(machine, KVM_PVPERF_OP_OPEN, 1, "OPEN before the interrupt");
	tap_equal(report(machine, 0)->overflows, 2,
		  "OPEN tells of the overflow");
	expect_overflowed(machine, 0, "OPEN before the interrupt");
	act_well(machine, KVM_PVPERF_OP_READ, 0, "READ after OPEN");
	expect_overflowed(machine, 1, "READ after OPEN");
	tap_ok(wait_for_late_overflow(late), "the interrupt comes again");
	tap_ok(!take_nmi(machine),
	       "an overflow that OPEN has told of makes no PMI");

	late = test_pmu_parameter("overflows_late_timer");
	write_port(machine, 1);
	tap_ok(!take_nmi(machine), "no PMI before the interrupt");
	tap_ok(wait_for_late_overflow(late), "the interrupt comes unexpected");
	tap_ok(take_nmi(machine),
	       "a PMI for a vCPU that is not in guest mode");
	act_well(machine, KVM_PVPERF_OP_READ, 0, "READ after the PMI");
	expect_overflowed(machine, 1, "READ after the PMI");

	await_nmi(machine);
	write_port(machine, 1);
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP before the interrupt");
	expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, 4,
		      "STOP before the interrupt");
	expect_overflows(machine, 0, "STOP before the interrupt");
	expect_overflowed(machine, 1, "STOP before the interrupt");
	spin(2 * LATE_NS);
	tap_ok(!take_nmi(machine),
	       "an overflow that STOP has told of makes no PMI");
	set_test_pmu_parameter("late", AT_ONCE);
}

static void test_several_slots(struct machine *machine)
{
	set_up(machine);
	request_samples(machine, 0, BUS_CYCLES, 7, 7);
	machine->area->slots[0].request.flags |= KVM_PVPERF_FLAG_EXCLUDE_USER;
	request_samples(machine, 1, BUS_CYCLES, 11, 3);
	machine->area->slots[1].request.flags |= KVM_PVPERF_FLAG_EXCLUDE_KERNEL;
	request_samples(machine, 2, BUS_CYCLES, 13, 13);
	request_samples(machine, 3, CYCLES, 100000, 50000);
	act_well(machine, KVM_PVPERF_OP_START, 0xf, "START of several");
	write_port(machine, 100);
	set_mode(machine, 64, 3);
	write_port(machine, 200);
	kvm_guest_spin(machine->vcpu, 1000000);
	set_mode(machine, 64, 0);
	act_well(machine, KVM_PVPERF_OP_READ, 0xf, "READ of several");
	expect_overflowed(machine, 0xf, "READ of several");
	tap_equal(report(machine, 0)->count, 100, "count of kernel mode");
	tap_equal(report(machine, 1)->count, 200, "count of user mode");
	tap_equal(report(machine, 2)->count, 300, "count of both");
	tap_ok(report(machine, 3)->overflows, "time overflows, too");
	expect_overflows(machine, 0, "kernel mode");
	expect_overflows(machine, 1, "user mode");
	expect_overflows(machine, 2, "both");
	expect_overflows(machine, 3, "time");
	act_well(machine, KVM_PVPERF_OP_STOP, 0xf, "STOP of several");
	expect_overflows(machine, 3, "time, stopped");
	take_nmi(machine);
}

/* Nanoseconds that a write takes which does not overflow. */
static uint64_t time_of_write(struct machine *machine, uint32_t writes)
{
	request_samples(machine, 0, BUS_CYCLES, LONGEST_PERIOD, LONGEST_PERIOD);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START without overflows");
	write_port(machine, writes);
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP without overflows");
	expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, writes,
		      "without overflows");
	return report(machine, 0)->time_running / writes;
}

static void test_throttling(struct machine *machine)
{
	const uint32_t parts = 20, writes_of_part = 1000;
	const uint32_t writes = parts * writes_of_part;
	struct kvm_pvperf_report former = {};
	const struct kvm_pvperf_report *run;
	uint64_t write_ns, began, most, missed;
	bool only_grows = true;
	uint32_t i;

	set_up(machine);
	run = report(machine, 0);
	write_ns = time_of_write(machine, writes);

	request_samples(machine, 0, BUS_CYCLES, 1, 1);
	set_sample_rate(LOW_LIMIT);
	began = now();
	act_well(machine, KVM_PVPERF_OP_START, 1, "START with a low limit");
	for (i = 0; i < parts; i++) {
		write_port(machine, writes_of_part);
		if (act(machine, KVM_PVPERF_OP_READ, 1))
			errx(EXIT_FAILURE, "READ fails");
		only_grows &= run->count >= former.count &&
			      run->time_running >= former.time_running &&
			      run->time_enabled >= former.time_enabled &&
			      run->time_running <= run->time_enabled;
		former = *run;
	}
	most = 3 * LOW_LIMIT * (now() - began) / NSEC_PER_SEC + 100;

	tap_equal(run->state, KVM_PVPERF_STATE_THROTTLED, "state throttled");
	tap_ok(only_grows, "count and times only grow");
	tap_ok(run->count && run->count <= most && most < writes,
	       "what is throttled counts no more: %llu of %u, at most %llu",
	       (unsigned long long)run->count, writes,
	       (unsigned long long)most);
	expect_overflows(machine, 0, "throttled");
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP of what is throttled");
	tap_equal(run->state, KVM_PVPERF_STATE_STOPPED, "stopped");
	missed = (run->time_enabled - run->time_running) / write_ns;
	tap_ok(missed > (writes - run->count) / 2 &&
	       missed < (writes - run->count) * 2,
	       "time is missing for about %llu writes, for %llu",
	       (unsigned long long)(writes - run->count),
	       (unsigned long long)missed);

	set_sample_rate(NO_LIMIT);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START without a limit");
	write_port(machine, 2000);
	act_well(machine, KVM_PVPERF_OP_READ, 1, "READ without a limit");
	expect_report(machine, 0, KVM_PVPERF_STATE_RUNNING, 2000,
		      "a throttling leaves nothing behind");
	tap_ok(run->time_running == run->time_enabled,
	       "and no time is missing then");
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP without a limit");
	take_nmi(machine);
}

/* Of a host whose CPU takes no period below 32. */
static void test_refused_periods(struct machine *machine)
{
	static const uint64_t periods[] = { 1, 7, 31, 32, 33 };
	uint64_t told, most;
	char what[32];
	size_t i;

	set_test_pmu_parameter("least_period", 32);
	set_up(machine);
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		snprintf(what, sizeof(what), "period %llu",
			 (unsigned long long)periods[i]);
		request_samples(machine, 0, BUS_CYCLES, periods[i], 1);
		act_well(machine, KVM_PVPERF_OP_START, 1, what);
		told = test_pmu_parameter("overflows");
		write_port(machine, 1000);
		told = test_pmu_parameter("overflows") - told;
		act_well(machine, KVM_PVPERF_OP_STOP, 1, what);
		expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, 1000, what);
		expect_overflows(machine, 0, what);
		expect_overflowed(machine, 1, what);
		most = 1 + 999 / 32;
		tap_ok(told > most / 2 && told <= most,
		       "%s: the host was told %llu times", what,
		       (unsigned long long)told);
		tap_ok(take_nmi(machine), "%s: a PMI", what);
	}
	set_test_pmu_parameter("least_period", 0);
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP of the last");
}

static void test_end(void)
{
	uint64_t existing = test_pmu_parameter("events_existing");
	uint64_t active = test_pmu_parameter("events_active");
	struct machine machine = new_sampling_machine();

	set_up(&machine);
	request_samples(&machine, 0, BUS_CYCLES, 1, 1);
	request_samples(&machine, 1, CYCLES, 100000, 100000);
	act_well(&machine, KVM_PVPERF_OP_START, 3, "START before the VM ends");
	write_port(&machine, 1000);
	tap_equal(test_pmu_parameter("events_existing"), existing + 2,
		  "the host has two more events");
	kvm_guest_destroy(machine.guest);
	tap_equal(test_pmu_parameter_settled("events_existing", existing),
		  existing, "the VM's end frees all events");
	tap_equal(test_pmu_parameter("events_active"), active,
		  "the VM's end frees all counters");
}

static void test_service(void)
{
	struct machine machine = new_sampling_machine();
	uint64_t limit = sample_rate();
	enum way way;

	set_sample_rate(NO_LIMIT);
	test_queries(&machine, 1);
	test_requests(&machine, 1);
	for (way = AT_ONCE; way < WAYS; way++)
		test_overflows(&machine, way);
	test_moments(&machine);
	test_lvtpc(&machine);
	test_told_once(&machine);
	test_overflowed(&machine);
	test_late_overflows(&machine);
	test_several_slots(&machine);
	test_throttling(&machine);
	test_refused_periods(&machine);
	kvm_guest_destroy(machine.guest);

	test_without_apic();
	test_end();
	set_sample_rate(limit);
}

static void test_min_period(uint64_t min_period)
{
	struct machine machine = new_sampling_machine();

	test_queries(&machine, min_period);
	test_requests(&machine, min_period);
	kvm_guest_destroy(machine.guest);
}

static void test_unload(void)
{
	struct machine machine = new_sampling_machine();
	uint64_t end = now() + 120 * NSEC_PER_SEC;
	int64_t result;

	set_up(&machine);
	request_samples(&machine, 0, BUS_CYCLES, 1, 1);
	request_samples(&machine, 1, CYCLES, 100000, 100000);
	act_well(&machine, KVM_PVPERF_OP_START, 3, "START before the end");
	do {
		await_nmi(&machine);
		write_port(&machine, 100);
		result = act(&machine, KVM_PVPERF_OP_READ, 3);
	} while (!result && now() < end);

	tap_equal(result, -KVM_PVPERF_ENOSYS, "READ once nobody serves it");
	tap_ok(report(&machine, 0)->overflows, "it has sampled until then");
	await_nmi(&machine);
	write_port(&machine, 100);
	tap_ok(!take_nmi(&machine), "no PMI comes any more");
	kvm_guest_destroy(machine.guest);
}

int main(int argc, char **argv)
{
	uint64_t min_period = 0;
	bool is_unloaded = false;
	int option;

	while ((option = getopt(argc, argv, "m:u")) != -1) {
		switch (option) {
		case 'm':
			min_period = parse_number(optarg, 2, 1000, "-m");
			break;
		case 'u':
			is_unloaded = true;
			break;
		default:
			fputs(usage, stderr);
			return EXIT_FAILURE;
		}
	}
	if (optind != argc || (min_period && is_unloaded)) {
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}

	if (is_unloaded) {
		test_unload();
		return tap_done();
	}

	/* What the thread is scheduled out for drops what was to come late. */
	pin_to_cpu(usable_cpu(0));
	use_fifo_scheduling();
	if (min_period)
		test_min_period(min_period);
	else
		test_service();
	return tap_done();
}
