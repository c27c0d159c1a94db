// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of hostile guests, in the host VM with the test PMU: every type, every
 * value of every byte of a config, every flag, and the boundary values of periods.
 * What a slot becomes is what docs/abi.md says, what CHECK says, and no other slot
 * is concerned.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi-machine.h"
#include "common.h"
#include "module-parameter.h"
#include "tap.h"

#define CACHE			KVM_PVPERF_TYPE_HW_CACHE
#define RAW			KVM_PVPERF_TYPE_RAW
#define SAMPLING		KVM_PVPERF_FLAG_SAMPLING
#define HARDWARE_EVENTS		10
#define CACHES			7
#define CACHE_OPERATIONS	3
#define CACHE_RESULTS		2
#define LONGEST_PERIOD		INT64_MAX

/* Bits that select an event, of section 5: 0-15, 18, 23-31, 32-35. */
static bool is_raw_selection(uint64_t config)
{
	return !(config & ~(0xffffULL | 1ULL << 18 | 0x1ffULL << 23 |
			    0xfULL << 32));
}

/* What section 5 lists. */
static bool is_listed(uint32_t type, uint64_t config)
{
	switch (type) {
	case HARDWARE:
		return config < HARDWARE_EVENTS;
	case CACHE:
		return (config & 0xff) < CACHES &&
		       (config >> 8 & 0xff) < CACHE_OPERATIONS &&
		       (config >> 16 & 0xff) < CACHE_RESULTS &&
		       !(config >> 24);
	case RAW:
		return is_raw_selection(config);
	default:
		return false;
	}
}

static uint32_t state_of_check(int64_t result)
{
	switch (result) {
	case 0:
		return KVM_PVPERF_STATE_RUNNING;
	case -KVM_PVPERF_EINVAL:
		return KVM_PVPERF_STATE_INVALID;
	case -KVM_PVPERF_EACCES:
		return KVM_PVPERF_STATE_DENIED;
	default:
		return KVM_PVPERF_STATE_UNSUPPORTED;
	}
}

/*
 * In slot 1, while slot 0 counts.  Not a result for each of thousands: returns
 * whether all is as it must be.
 */
static bool becomes(struct machine *machine,
		    const struct kvm_pvperf_request *asked, uint32_t state)
{
	const uint32_t running = state == KVM_PVPERF_STATE_RUNNING ? 3 : 1;
	const struct kvm_pvperf_report nothing = { .state = state };

	machine->area->slots[1].request = *asked;
	if (act(machine, KVM_PVPERF_OP_START, 2) ||
	    report(machine, 1)->state != state ||
	    machine->area->header.running != running)
		return false;
	if (state == KVM_PVPERF_STATE_RUNNING)
		return !act(machine, KVM_PVPERF_OP_CLOSE, 2);
	return !memcmp(&nothing, report(machine, 1), sizeof(nothing));
}

/* Of an event without sampling; types above 255 CHECK cannot name. */
static bool is_judged_right(struct machine *machine, uint32_t type,
			    uint64_t config)
{
	const struct kvm_pvperf_request asked = {
		.type = type, .config = config,
	};
	int64_t result = call(machine, KVM_PVPERF_OP_CHECK, type & 0xff,
			      (uint32_t)config, config >> 32);
	uint32_t state;

	if (type > 0xff)
		return becomes(machine, &asked, KVM_PVPERF_STATE_UNSUPPORTED);
	state = state_of_check(result);
	if (!is_listed(type, config) && result != -KVM_PVPERF_ENOENT)
		return false;
	if (is_listed(type, config) && type == RAW &&
	    result != -KVM_PVPERF_EACCES)
		return false;
	if (becomes(machine, &asked, state))
		return true;

	tap_note("type %#x, config %#llx: CHECK %lld, state %u", type,
		 (unsigned long long)config, (long long)result,
		 report(machine, 1)->state);
	return false;
}

static void test_types(struct machine *machine)
{
	static const uint64_t configs[] = { 0, BUS_CYCLES, ~0ULL };
	uint64_t wrong = 0;
	uint32_t type;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		for (type = 0; type <= 0x100; type++)
			wrong += !is_judged_right(machine, type, configs[i]);
		for (type = 0x200; type; type <<= 1)
			wrong += !is_judged_right(machine, type, configs[i]);
		wrong += !is_judged_right(machine, ~0U, configs[i]);
	}
	tap_equal(wrong, 0, "types");
}

static void test_configs(struct machine *machine)
{
	static const uint32_t types[] = { HARDWARE, CACHE, RAW };
	uint64_t wrong, value;
	int byte, bit;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		wrong = 0;
		for (byte = 0; byte < 8; byte++)
			for (value = 0; value < 0x100; value++)
				wrong += !is_judged_right(machine, types[i],
							  value << byte * 8);
		tap_equal(wrong, 0, "type %u: each byte of a config", types[i]);
		wrong = 0;
		for (bit = 0; bit < 64; bit++)
			wrong += !is_judged_right(machine, types[i],
						  ~(1ULL << bit)) +
				 !is_judged_right(machine, types[i],
						  (1ULL << bit) - 1);
		tap_equal(wrong, 0, "type %u: each bit of a config", types[i]);
	}
}

static void test_caches(struct machine *machine)
{
	uint64_t wrong = 0, cache, operation, result;

	for (cache = 0; cache <= CACHES; cache++)
		for (operation = 0; operation <= CACHE_OPERATIONS; operation++)
			for (result = 0; result <= CACHE_RESULTS; result++)
				wrong += !is_judged_right(machine, CACHE,
							  cache |
							  operation << 8 |
							  result << 16);
	tap_equal(wrong, 0, "all combinations of a cache event");
}

static void test_flags(struct machine *machine)
{
	struct kvm_pvperf_request asked = { .config = BUS_CYCLES };
	uint64_t wrong = 0, accepted = 0;
	uint32_t flag;

	for (flag = KVM_PVPERF_FLAGS_ALL + 1; flag; flag <<= 1) {
		asked.flags = flag;
		wrong += !becomes(machine, &asked, KVM_PVPERF_STATE_INVALID);
		asked.flags = flag | KVM_PVPERF_FLAG_EXCLUDE_USER;
		wrong += !becomes(machine, &asked, KVM_PVPERF_STATE_INVALID);
		if (flag < 1U << 24)
			accepted += call(machine, KVM_PVPERF_OP_CHECK,
					 HARDWARE | flag << 8, BUS_CYCLES, 0) !=
				    -KVM_PVPERF_EINVAL;
	}
	tap_equal(wrong, 0, "each undefined flag is invalid");
	tap_equal(accepted, 0, "and CHECK refuses it");
}

static void test_reserved(struct machine *machine)
{
	struct kvm_pvperf_request asked;
	uint64_t wrong = 0;
	int bit;

	for (bit = 0; bit < 128; bit++) {
		asked = (struct kvm_pvperf_request){ .config = BUS_CYCLES };
		asked.reserved[bit / 64] = 1ULL << bit % 64;
		wrong += !becomes(machine, &asked, KVM_PVPERF_STATE_INVALID);
	}
	tap_equal(wrong, 0, "each reserved bit is invalid");
}

static void test_periods(struct machine *machine)
{
	static const uint64_t values[] = {
		0, 1, 2, 1ULL << 31, 1ULL << 32, LONGEST_PERIOD - 1,
		LONGEST_PERIOD, 1ULL << 63, (1ULL << 63) + 1, ~0ULL - 1, ~0ULL,
	};
	struct kvm_pvperf_request asked = { .config = BUS_CYCLES };
	uint64_t wrong = 0;
	bool is_valid;
	size_t i, j;
	int sampling;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		for (j = 0; j < ARRAY_SIZE(values); j++) {
			for (sampling = 0; sampling < 2; sampling++) {
				asked.flags = sampling ? SAMPLING : 0;
				asked.period = values[i];
				asked.left = values[j];
				is_valid = sampling ?
					asked.period &&
					asked.period <= LONGEST_PERIOD &&
					asked.left &&
					asked.left <= asked.period :
					!asked.period && !asked.left;
				if (becomes(machine, &asked, is_valid ?
					    KVM_PVPERF_STATE_RUNNING :
					    KVM_PVPERF_STATE_INVALID))
					continue;
				wrong++;
				tap_note("period %#llx, left %#llx",
					 (unsigned long long)asked.period,
					 (unsigned long long)asked.left);
			}
		}
	}
	tap_equal(wrong, 0, "boundary values of period and left");
}

int main(int argc, char **argv)
{
	struct machine machine;

	if (argc != 1) {
		fprintf(stderr, "usage: %s\n", argv[0]);
		return EXIT_FAILURE;
	}

	machine = new_machine(KVM_GUEST_IRQCHIP);
	set_up(&machine);
	request(&machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(&machine, KVM_PVPERF_OP_START, 1, "START of what goes on");
	test_types(&machine);
	test_configs(&machine);
	test_caches(&machine);
	test_flags(&machine);
	test_reserved(&machine);
	test_periods(&machine);
	write_port(&machine, 7);
	act_well(&machine, KVM_PVPERF_OP_STOP, 1, "STOP of it");
	expect_report(&machine, 0, KVM_PVPERF_STATE_STOPPED, 7,
		      "nothing has disturbed it");
	kvm_guest_destroy(machine.guest);
	tap_equal(host_parameter_settled("events_open", 0), 0,
		  "nothing is left open");
	return tap_done();
}
