// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile guests, in the host VM with the test PMU: every operation of docs/abi.md
 * with every boundary value of its registers, in every mode of the CPU, with areas
 * that are no memory, that go away, or that somebody else scribbles on.  Each call
 * gets the documented answer, and one that fails has done nothing.
 */
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi-machine.h"
#include "common.h"
#include "module-parameter.h"
#include "tap.h"

#define OTHER_AREA_GPA	(AREA_GPA + KVM_PVPERF_AREA_SIZE)
#define LAST_PAGE_GPA	(KVM_GUEST_MEMORY - KVM_PVPERF_AREA_SIZE)
#define APIC_GPA	0xfee00000ULL
#define OPERATIONS	(KVM_PVPERF_OP_READ + 1)
#define SETUPS		2000
#define RANDOM_CALLS	4000

static const char usage[] =
"usage: abi-hostile SLOTS [SEED]\n"
"  SLOTS  max_events of the host's module\n"
"  SEED   of the random calls (default: 1)\n"
"Prints results in the Test Anything Protocol.\n";

static bool acts_on_set(uint64_t operation)
{
	return operation >= KVM_PVPERF_OP_OPEN &&
	       operation <= KVM_PVPERF_OP_READ;
}

/* Arguments with which an operation succeeds once an area is set up. */
static void good_arguments(const struct machine *machine, uint64_t operation,
			   uint64_t arguments[3])
{
	memset(arguments, 0, 3 * sizeof(arguments[0]));
	if (operation == KVM_PVPERF_OP_SETUP)
		arguments[0] = AREA_GPA;
	if (acts_on_set(operation))
		arguments[1] = machine->area->header.sequence;
}

/* A fresh area, with one event that counts port writes in slot 0. */
static void count_in_slot_0(struct machine *machine)
{
	set_up(machine);
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START");
}

/* It has counted on whatever was called meanwhile. */
static void expect_undisturbed(struct machine *machine, const char *what)
{
	write_port(machine, 5);
	act_well(machine, KVM_PVPERF_OP_STOP, 1, what);
	expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, 5, what);
}

static void test_upper_halves(struct machine *machine)
{
	static const uint64_t upper[] = { 1ULL << 32, 1ULL << 63, ~0ULL << 32 };
	uint64_t registers[4], operation;
	char what[64];
	int which;
	size_t i;

	count_in_slot_0(machine);
	for (operation = 0; operation <= OPERATIONS; operation++) {
		for (which = 0; which < 4; which++) {
			for (i = 0; i < ARRAY_SIZE(upper); i++) {
				registers[0] = operation;
				good_arguments(machine, operation,
					       registers + 1);
				registers[which] |= upper[i];
				snprintf(what, sizeof(what),
					 "operation %llu, register %d",
					 (unsigned long long)operation, which);
				call_badly(machine, registers[0], registers[1],
					   registers[2], registers[3],
					   operation < OPERATIONS ?
					   KVM_PVPERF_EINVAL :
					   KVM_PVPERF_ENOSYS, what);
			}
		}
	}
	expect_undisturbed(machine, "after upper halves");
}

/* Only where a register has them: elsewhere the upper half is not looked at. */
static void test_number(struct machine *machine)
{
	uint64_t other = KVM_PVPERF_HYPERCALL | 1ULL << 32;

	tap_equal(kvm_guest_hypercall(machine->vcpu, other, 0, 0, 0, 0),
		  -KVM_PVPERF_ENOSYS, "the number with an upper half");
	set_mode(machine, KVM_GUEST_COMPATIBILITY, 0);
	tap_equal((int32_t)kvm_guest_hypercall(machine->vcpu, other, 0, 0, 0,
					       0),
		  -KVM_PVPERF_ENOSYS, "the same in compatibility mode");
	set_mode(machine, KVM_GUEST_32_BIT, 0);
	tap_ok((int32_t)kvm_guest_hypercall(machine->vcpu, other, 0, 0, 0, 0) >
	       0, "in 32-bit mode it has none");
	set_mode(machine, KVM_GUEST_64_BIT, 0);
}

static void test_unused_arguments(struct machine *machine)
{
	static const uint32_t values[] = { 1, 1U << 31, ~0U };
	static const int used[OPERATIONS] = {
		[KVM_PVPERF_OP_QUERY] = 1, [KVM_PVPERF_OP_CHECK] = 3,
		[KVM_PVPERF_OP_SETUP] = 2, [KVM_PVPERF_OP_RESET] = 0,
		[KVM_PVPERF_OP_OPEN] = 2, [KVM_PVPERF_OP_CLOSE] = 2,
		[KVM_PVPERF_OP_START] = 2, [KVM_PVPERF_OP_STOP] = 2,
		[KVM_PVPERF_OP_READ] = 2,
	};
	uint64_t arguments[3], operation;
	char what[64];
	size_t i;
	int which;

	count_in_slot_0(machine);
	for (operation = 0; operation < OPERATIONS; operation++) {
		for (which = used[operation]; which < 3; which++) {
			for (i = 0; i < ARRAY_SIZE(values); i++) {
				good_arguments(machine, operation, arguments);
				arguments[which] = values[i];
				snprintf(what, sizeof(what),
					 "operation %llu, unused argument %d",
					 (unsigned long long)operation, which);
				call_badly(machine, operation, arguments[0],
					   arguments[1], arguments[2],
					   KVM_PVPERF_EINVAL, what);
			}
		}
	}
	for (i = 4; i < 40; i++)
		call_badly(machine, KVM_PVPERF_OP_QUERY,
			   i < 36 ? (uint32_t)i : ~(uint32_t)(i - 36), 0, 0,
			   KVM_PVPERF_EINVAL, "QUERY of an unknown item");
	expect_undisturbed(machine, "after unused arguments");
}

static void test_sets(struct machine *machine)
{
	const uint64_t all = (1ULL << machine->slots) - 1;
	const uint64_t sets[] = {
		0, 1, 1ULL << (machine->slots - 1), all, all + 1,
		1ULL << 31, (uint32_t)~all, ~0U,
	};
	uint64_t operation;
	char what[64];
	size_t i;

	set_up(machine);
	for (operation = KVM_PVPERF_OP_OPEN; operation < OPERATIONS;
	     operation++) {
		for (i = 0; i < ARRAY_SIZE(sets); i++) {
			if (sets[i] > UINT32_MAX)
				continue;
			snprintf(what, sizeof(what),
				 "operation %llu, set %#llx",
				 (unsigned long long)operation,
				 (unsigned long long)sets[i]);
			if (sets[i] & ~all)
				call_badly(machine, operation, sets[i],
					   machine->area->header.sequence, 0,
					   KVM_PVPERF_EINVAL, what);
			else
				act_well(machine, operation, sets[i], what);
		}
	}
}

static void test_privilege(struct machine *machine)
{
	static const int modes[] = {
		KVM_GUEST_16_BIT, KVM_GUEST_32_BIT, KVM_GUEST_COMPATIBILITY,
		KVM_GUEST_64_BIT,
	};
	uint64_t operation;
	char what[64];
	size_t i;
	int cpl;

	count_in_slot_0(machine);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		for (cpl = 1; cpl <= 3; cpl++) {
			set_mode(machine, modes[i], cpl);
			for (operation = 0; operation <= OPERATIONS;
			     operation++) {
				snprintf(what, sizeof(what),
					 "mode %d, CPL %d, operation %llu",
					 modes[i], cpl,
					 (unsigned long long)operation);
				call_badly(machine, operation, ~0U, ~0U, ~0U,
					   KVM_PVPERF_EPERM, what);
			}
		}
	}
	set_mode(machine, KVM_GUEST_64_BIT, 0);
	expect_undisturbed(machine, "after calls at other CPLs");
}

static void test_modes(struct machine *machine)
{
	static const int modes[] = {
		KVM_GUEST_REAL_MODE, KVM_GUEST_16_BIT, KVM_GUEST_32_BIT,
		KVM_GUEST_COMPATIBILITY, KVM_GUEST_64_BIT,
	};
	char what[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		snprintf(what, sizeof(what), "mode %d", modes[i]);
		set_mode(machine, modes[i], 0);
		tap_equal(call(machine, KVM_PVPERF_OP_QUERY,
			       KVM_PVPERF_QUERY_ABI, 0, 0),
			  KVM_PVPERF_ABI_MAGIC << 16 | KVM_PVPERF_ABI_VERSION,
			  "%s: QUERY", what);
		call_badly(machine, OPERATIONS, 0, 0, 0, KVM_PVPERF_ENOSYS,
			   what);
		count_in_slot_0(machine);
		call_badly(machine, KVM_PVPERF_OP_READ, 1, 0, 1,
			   KVM_PVPERF_EINVAL, what);
		expect_undisturbed(machine, what);
		if (modes[i] != KVM_GUEST_64_BIT)
			tap_equal(call(machine, KVM_PVPERF_OP_QUERY,
				       ~0ULL << 32 | KVM_PVPERF_QUERY_SLOTS, 0,
				       1ULL << 40),
				  machine->slots, "%s: upper halves", what);
	}
	set_mode(machine, KVM_GUEST_64_BIT, 0);
}

static void test_addresses(struct machine *machine)
{
	const struct {
		const char *what;
		uint64_t gpa;
		int error;
	} addresses[] = {
		{ "1 byte off", AREA_GPA + 1, KVM_PVPERF_EINVAL },
		{ "8 bytes off", AREA_GPA + 8, KVM_PVPERF_EINVAL },
		{ "half a page off", AREA_GPA + 0x800, KVM_PVPERF_EINVAL },
		{ "a byte short", AREA_GPA - 1, KVM_PVPERF_EINVAL },
		{ "across the end of memory", LAST_PAGE_GPA + 0x800,
		  KVM_PVPERF_EINVAL },
		{ "behind the end of memory", KVM_GUEST_MEMORY,
		  KVM_PVPERF_EFAULT },
		{ "the local APIC", APIC_GPA, KVM_PVPERF_EFAULT },
		{ "2^32", 1ULL << 32, KVM_PVPERF_EFAULT },
		{ "2^40", 1ULL << 40, KVM_PVPERF_EFAULT },
		{ "2^51", 1ULL << 51, KVM_PVPERF_EFAULT },
		{ "2^52, no address of a CPU", 1ULL << 52, KVM_PVPERF_EFAULT },
		{ "2^63", 1ULL << 63, KVM_PVPERF_EFAULT },
		{ "2^63 and memory", 1ULL << 63 | AREA_GPA, KVM_PVPERF_EFAULT },
		{ "the last page of all", -4096ULL, KVM_PVPERF_EFAULT },
		{ "the last byte of all", ~0ULL, KVM_PVPERF_EINVAL },
	};
	size_t i;

	count_in_slot_0(machine);
	for (i = 0; i < ARRAY_SIZE(addresses); i++)
		call_badly(machine, KVM_PVPERF_OP_SETUP,
			   (uint32_t)addresses[i].gpa, addresses[i].gpa >> 32,
			   0, addresses[i].error, addresses[i].what);
	expect_undisturbed(machine, "after SETUP of bad addresses");

	machine->area = kvm_guest_memory(machine->guest, LAST_PAGE_GPA,
					 KVM_PVPERF_AREA_SIZE);
	write_header(machine->area);
	tap_equal(set_up_at(machine, LAST_PAGE_GPA), 0, "the last page");
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START in the last page");
	expect_undisturbed(machine, "in the last page");
}

static void test_headers(struct machine *machine)
{
	unsigned char *header;
	struct kvm_pvperf_area good;
	size_t byte;

	count_in_slot_0(machine);
	good = *machine->area;
	header = (unsigned char *)&machine->area->header;
	for (byte = 0; byte < offsetof(struct kvm_pvperf_header, sequence);
	     byte++) {
		header[byte] ^= 1U << byte % 8;
		call_badly(machine, KVM_PVPERF_OP_SETUP, AREA_GPA, 0, 0,
			   KVM_PVPERF_EINVAL, "SETUP with one bit wrong");
		header[byte] ^= 1U << byte % 8;
	}
	tap_ok(!memcmp(&good, machine->area, sizeof(good)),
	       "the area is as it was");
	expect_undisturbed(machine, "after SETUP with wrong headers");
}

static void test_sequences(struct machine *machine)
{
	uint32_t good, bad[6], operation;
	size_t i;

	count_in_slot_0(machine);
	good = machine->area->header.sequence;
	bad[0] = good - 1;
	bad[1] = good + 1;
	bad[2] = good ^ 1U << 31;
	bad[3] = ~good;
	bad[4] = good ? 0 : 1;
	bad[5] = ~good ? ~0U : 1;
	for (operation = KVM_PVPERF_OP_OPEN; operation < OPERATIONS;
	     operation++)
		for (i = 0; i < ARRAY_SIZE(bad); i++)
			call_badly(machine, operation, ~0U, bad[i], 0,
				   KVM_PVPERF_ESTALE, "a wrong sequence");
	expect_undisturbed(machine, "after wrong sequences");
}

/* Ways in which the page can go, and come back. */
enum loss { MEMORY_TAKEN, MEMORY_READ_ONLY, PAGE_FORBIDDEN, PAGE_READ_ONLY,
	    LOSSES };

static void lose_area(struct machine *machine, enum loss loss, bool lose)
{
	switch (loss) {
	case MEMORY_TAKEN:
		kvm_guest_take_memory(machine->guest, lose);
		break;
	case MEMORY_READ_ONLY:
		kvm_guest_forbid_writes(machine->guest, lose);
		break;
	default:
		if (mprotect(machine->area, KVM_PVPERF_AREA_SIZE,
			     !lose ? PROT_READ | PROT_WRITE :
			     loss == PAGE_READ_ONLY ? PROT_READ : PROT_NONE))
			err(EXIT_FAILURE, "mprotect");
	}
}

static void test_loss(struct machine *machine, enum loss loss,
		      uint64_t operation, uint32_t set)
{
	const bool is_readable = loss == MEMORY_READ_ONLY ||
				 loss == PAGE_READ_ONLY;
	const bool reads = set && (operation == KVM_PVPERF_OP_OPEN ||
				   operation == KVM_PVPERF_OP_START);
	uint32_t sequence;
	char what[64];

	snprintf(what, sizeof(what), "loss %d, operation %llu, set %u", loss,
		 (unsigned long long)operation, set);
	count_in_slot_0(machine);
	sequence = machine->area->header.sequence;
	lose_area(machine, loss, true);
	tap_equal(call(machine, operation, set, sequence, 0),
		  -KVM_PVPERF_EFAULT, "%s: EFAULT", what);
	tap_equal(call(machine, KVM_PVPERF_OP_SETUP, AREA_GPA, 0, 0),
		  -KVM_PVPERF_EFAULT, "%s: SETUP", what);
	lose_area(machine, loss, false);

	/* A request that cannot be read: nothing was done. */
	if (reads && !is_readable) {
		expect_undisturbed(machine, what);
		return;
	}
	tap_equal(host_parameter("events_open"), 0,
		  "%s: everything is closed", what);
	tap_equal(call(machine, KVM_PVPERF_OP_READ, 0, sequence, 0),
		  -KVM_PVPERF_ESTALE, "%s: ESTALE", what);
	tap_equal(call(machine, KVM_PVPERF_OP_READ, 0, sequence + 1, 0),
		  -KVM_PVPERF_ESTALE, "%s: ESTALE with the next", what);
}

static void test_losses(struct machine *machine)
{
	uint64_t operation;
	int loss;

	for (loss = 0; loss < LOSSES; loss++) {
		for (operation = KVM_PVPERF_OP_OPEN; operation < OPERATIONS;
		     operation++) {
			test_loss(machine, loss, operation, 1);
			test_loss(machine, loss, operation, 0);
		}
	}
}

static void test_many_setups(struct machine *machine)
{
	uint64_t failures = 0;
	int i;

	for (i = 0; i < SETUPS; i++) {
		failures += !!set_up_at(machine, AREA_GPA);
		machine->area->slots[i % machine->slots].request =
			(struct kvm_pvperf_request){ .config = BUS_CYCLES };
		failures += !!act(machine, KVM_PVPERF_OP_START,
				  1U << i % machine->slots);
	}
	tap_equal(failures, 0, "%d times SETUP and START", SETUPS);
	tap_equal(host_parameter("events_open"), 1,
		  "of which the last has an event");
}

static bool is_documented(int64_t result)
{
	switch (-result) {
	case 0:
	case KVM_PVPERF_EINVAL:
	case KVM_PVPERF_EFAULT:
	case KVM_PVPERF_ESTALE:
	case KVM_PVPERF_ENOENT:
	case KVM_PVPERF_EACCES:
	case KVM_PVPERF_EOPNOTSUPP:
	case KVM_PVPERF_ENOSYS:
		return true;
	default:
		return result > 0 && result <= INT32_MAX;
	}
}

/* Of one of the parties that race. */
struct party {
	struct machine machine;
	unsigned int seed;
	uint64_t undocumented;
	atomic_bool *is_over;
};

static uint64_t pick(unsigned int *seed, const uint64_t *values, size_t count)
{
	return values[rand_r(seed) % count];
}

/* One operation of many, likely or not. */
static int64_t random_call(struct party *party)
{
	static const uint64_t sets[] = { 0, 1, 3, 0xff, ~0U, 1U << 31 };
	static const uint64_t pages[] = {
		AREA_GPA, AREA_GPA, OTHER_AREA_GPA, 0, APIC_GPA,
	};
	uint64_t operation = rand_r(&party->seed) % (OPERATIONS + 1);
	uint64_t sequence = party->machine.area->header.sequence;

	switch (operation) {
	case KVM_PVPERF_OP_QUERY:
		return call(&party->machine, operation,
			    rand_r(&party->seed) % 6, 0, 0);
	case KVM_PVPERF_OP_CHECK:
		return call(&party->machine, operation,
			    rand_r(&party->seed) % 0x900,
			    rand_r(&party->seed) % 0x200, 0);
	case KVM_PVPERF_OP_SETUP:
		write_header(party->machine.area);
		return call(&party->machine, operation,
			    pick(&party->seed, pages, ARRAY_SIZE(pages)), 0, 0);
	case KVM_PVPERF_OP_RESET:
		return call(&party->machine, operation, 0, 0, 0);
	default:
		return call(&party->machine, operation,
			    pick(&party->seed, sets, ARRAY_SIZE(sets)),
			    sequence, 0);
	}
}

static void *call_at_random(void *argument)
{
	struct party *party = argument;
	int64_t result;
	int i;

	for (i = 0; i < RANDOM_CALLS; i++) {
		result = random_call(party);
		if (is_documented(result))
			continue;
		tap_note("result %lld", (long long)result);
		party->undocumented++;
	}
	return NULL;
}

/* Writes to requests and reports, for as long as vCPUs make calls. */
static void *scribble(void *argument)
{
	struct party *party = argument;
	const size_t first = sizeof(struct kvm_pvperf_header) / 4;
	uint32_t *words = (uint32_t *)party->machine.area;

	while (!atomic_load(party->is_over))
		__atomic_store_n(&words[first + rand_r(&party->seed) % 256],
				 (uint32_t)rand_r(&party->seed) %
				 (rand_r(&party->seed) % 3 ? 8 : UINT32_MAX),
				 __ATOMIC_RELAXED);
	return NULL;
}

/*
 * Two vCPUs use one page, and their VMM writes to it all the time.  Periods of some
 * nanoseconds, of which nothing but the host's limits of the sample rate keeps
 * guests, would leave no time for anything else here.
 */
static void test_races(struct machine *machine, unsigned int seed)
{
	atomic_bool is_over = false;
	struct party parties[3];
	pthread_t threads[3];
	int i;

	set_host_parameter("min_period", "1000000");
	for (i = 0; i < 3; i++)
		parties[i] = (struct party){
			.machine = *machine, .seed = seed + i,
			.is_over = &is_over,
		};
	parties[1].machine.vcpu = kvm_guest_add_vcpu(machine->guest);
	for (i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL,
				   i < 2 ? call_at_random : scribble,
				   &parties[i]))
			errx(EXIT_FAILURE, "cannot create a thread");
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&is_over, true);
	pthread_join(threads[2], NULL);
	set_host_parameter("min_period", "1");

	for (i = 0; i < 2; i++)
		tap_equal(parties[i].undocumented, 0,
			  "random calls with seed %u: documented results",
			  seed + i);
	for (i = 0; i < 2; i++) {
		count_in_slot_0(&parties[i].machine);
		expect_undisturbed(&parties[i].machine, "after random calls");
	}
}

int main(int argc, char **argv)
{
	uint64_t slots, seed;
	struct machine machine;

	if (argc < 2 || argc > 3) {
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	setlinebuf(stdout);
	slots = parse_number(argv[1], 1, KVM_PVPERF_SLOTS, "SLOTS");
	seed = argc > 2 ? parse_number(argv[2], 0, UINT32_MAX, "SEED") : 1;

	machine = new_machine(KVM_GUEST_IRQCHIP);
	machine.slots = call(&machine, KVM_PVPERF_OP_QUERY,
			     KVM_PVPERF_QUERY_SLOTS, 0, 0);
	tap_equal(machine.slots, slots, "the slots of max_events");
	test_sets(&machine);
	test_upper_halves(&machine);
	test_number(&machine);
	test_unused_arguments(&machine);
	test_privilege(&machine);
	test_modes(&machine);
	test_addresses(&machine);
	test_headers(&machine);
	test_sequences(&machine);
	test_losses(&machine);
	test_many_setups(&machine);
	test_races(&machine, seed);
	kvm_guest_destroy(machine.guest);
	tap_equal(host_parameter_settled("events_open", 0), 0,
		  "nothing is left open");
	return tap_done();
}
