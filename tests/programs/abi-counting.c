// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the counting half of docs/abi.md by hypercalls of a guest that has no
 * kernel, in the host VM with the test PMU.
 */
#include <err.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi-machine.h"
#include "common.h"
#include "tap.h"
#include "module-parameter.h"

#define OTHER_AREA_GPA		(KVM_GUEST_FREE + KVM_PVPERF_AREA_SIZE)
#define NO_MEMORY_GPA		0x7f000000
#define WRITES			2000
#define RAW_EXACT		0xe0

static const char usage[] =
"usage: abi-counting [-a | -r]\n"
"  -a  nobody serves the interface: test that it is absent\n"
"  -r  the host allows raw events\n"
"Prints results in the Test Anything Protocol.\n";

static void test_absence(void)
{
	struct machine machine = new_machine(0);
	uint64_t op;

	tap_ok(!has_feature_bit(&machine), "the feature bit is clear");
	for (op = KVM_PVPERF_OP_QUERY; op <= KVM_PVPERF_OP_READ; op++)
		tap_equal(call(&machine, op, 0, 0, 0), -KVM_PVPERF_ENOSYS,
			  "operation %llu: -ENOSYS", (unsigned long long)op);
	set_mode(&machine, 32, 0);
	tap_equal(call(&machine, KVM_PVPERF_OP_QUERY, 0, 0, 0),
		  -KVM_PVPERF_ENOSYS, "in 32-bit mode: -ENOSYS");
	kvm_guest_destroy(machine.guest);
}

static void test_query(struct machine *machine)
{
	tap_ok(has_feature_bit(machine), "the feature bit is set");
	tap_equal(call(machine, KVM_PVPERF_OP_QUERY, KVM_PVPERF_QUERY_ABI, 0,
		       0),
		  KVM_PVPERF_ABI_MAGIC << 16 | KVM_PVPERF_ABI_VERSION,
		  "QUERY of the ABI");
	machine->slots = call(machine, KVM_PVPERF_OP_QUERY,
			      KVM_PVPERF_QUERY_SLOTS, 0, 0);
	tap_ok(machine->slots >= 1 && machine->slots <= KVM_PVPERF_SLOTS,
	       "QUERY of the slots: %u", machine->slots);
	tap_equal(call(machine, KVM_PVPERF_OP_QUERY, KVM_PVPERF_QUERY_CAPS, 0,
		       0) & KVM_PVPERF_CAP_PMI, 0,
		  "no PMI without a local APIC in the kernel");
	tap_equal(call(machine, KVM_PVPERF_OP_QUERY,
		       KVM_PVPERF_QUERY_MIN_PERIOD, 0, 0), 0,
		  "no smallest period without sampling");
}

/* Before any SETUP. */
static void test_malformed_calls(struct machine *machine)
{
	const uint64_t high = 1ULL << 32;
	uint64_t op;

	call_badly(machine, KVM_PVPERF_OP_QUERY, 4, 0, 0, KVM_PVPERF_EINVAL,
		   "QUERY of an unknown item");
	call_badly(machine, KVM_PVPERF_OP_QUERY, 0, 1, 0, KVM_PVPERF_EINVAL,
		   "QUERY with a second argument");
	call_badly(machine, KVM_PVPERF_OP_QUERY, 0, 0, 1, KVM_PVPERF_EINVAL,
		   "QUERY with a third argument");
	call_badly(machine, KVM_PVPERF_OP_RESET, 1, 0, 0, KVM_PVPERF_EINVAL,
		   "RESET with an argument");
	call_badly(machine, KVM_PVPERF_OP_READ + 1, 0, 0, 0,
		   KVM_PVPERF_ENOSYS, "an unknown operation");
	call_badly(machine, UINT32_MAX, high, high, high, KVM_PVPERF_ENOSYS,
		   "an unknown operation with upper halves");
	call_badly(machine, KVM_PVPERF_OP_QUERY | high, 0, 0, 0,
		   KVM_PVPERF_EINVAL, "upper half of RBX");
	call_badly(machine, KVM_PVPERF_OP_QUERY, high, 0, 0,
		   KVM_PVPERF_EINVAL, "upper half of RCX");
	call_badly(machine, KVM_PVPERF_OP_CHECK, 0, high, 0,
		   KVM_PVPERF_EINVAL, "upper half of RDX");
	call_badly(machine, KVM_PVPERF_OP_CHECK, 0, 0, high,
		   KVM_PVPERF_EINVAL, "upper half of RSI");
	for (op = KVM_PVPERF_OP_OPEN; op <= KVM_PVPERF_OP_READ; op++) {
		call_badly(machine, op, 1, 0, 0, KVM_PVPERF_ESTALE,
			   "a set without an area");
		call_badly(machine, op, 1, 0, 1, KVM_PVPERF_EINVAL,
			   "a set with a third argument");
	}
}

static void test_privilege(struct machine *machine)
{
	uint64_t op;

	set_up(machine);
	set_mode(machine, 64, 3);
	for (op = KVM_PVPERF_OP_QUERY; op <= KVM_PVPERF_OP_READ + 1; op++)
		call_badly(machine, op, 0, 0, 0, KVM_PVPERF_EPERM, "at CPL 3");
	set_mode(machine, 64, 0);
	act_well(machine, KVM_PVPERF_OP_READ, 0, "READ after calls at CPL 3");
}

static void test_check(struct machine *machine, bool raw_allowed)
{
	static const struct {
		const char *what;
		uint32_t type;
		uint32_t flags;
		uint64_t config;
		int error;
	} cases[] = {
		{ "cycles", HARDWARE, 0, CYCLES, 0 },
		{ "bus-cycles", HARDWARE, 0, BUS_CYCLES, 0 },
		{ "cycles with filters", HARDWARE,
		  KVM_PVPERF_FLAG_EXCLUDE_USER |
		  KVM_PVPERF_FLAG_EXCLUDE_KERNEL, CYCLES, 0 },
		{ "L1D read misses", KVM_PVPERF_TYPE_HW_CACHE, 0, 0x10000, 0 },
		{ "stalled cycles", HARDWARE, 0, STALLED_CYCLES,
		  KVM_PVPERF_ENOENT },
		{ "hardware 10", HARDWARE, 0, 10, KVM_PVPERF_ENOENT },
		{ "hardware 2^32", HARDWARE, 0, 1ULL << 32,
		  KVM_PVPERF_ENOENT },
		{ "L1I reads", KVM_PVPERF_TYPE_HW_CACHE, 0, 1,
		  KVM_PVPERF_ENOENT },
		{ "cache 7", KVM_PVPERF_TYPE_HW_CACHE, 0, 7,
		  KVM_PVPERF_ENOENT },
		{ "cache operation 3", KVM_PVPERF_TYPE_HW_CACHE, 0, 0x300,
		  KVM_PVPERF_ENOENT },
		{ "cache result 2", KVM_PVPERF_TYPE_HW_CACHE, 0, 0x20000,
		  KVM_PVPERF_ENOENT },
		{ "cache byte 3", KVM_PVPERF_TYPE_HW_CACHE, 0, 1 << 24,
		  KVM_PVPERF_ENOENT },
		{ "software events", 1, 0, 0, KVM_PVPERF_ENOENT },
		{ "tracepoints", 2, 0, 1, KVM_PVPERF_ENOENT },
		{ "breakpoints", 5, 0, 0, KVM_PVPERF_ENOENT },
		{ "a raw event of both hyperthreads", KVM_PVPERF_TYPE_RAW, 0,
		  RAW_EXACT | 1 << 21, KVM_PVPERF_ENOENT },
		{ "a raw event with filters of its own", KVM_PVPERF_TYPE_RAW, 0,
		  RAW_EXACT | 3 << 16, KVM_PVPERF_ENOENT },
		{ "a raw event with bit 36", KVM_PVPERF_TYPE_RAW, 0,
		  RAW_EXACT | 1ULL << 36, KVM_PVPERF_ENOENT },
		{ "type 255", 255, 0, 0, KVM_PVPERF_ENOENT },
		{ "an undefined flag", HARDWARE, 0x8, CYCLES,
		  KVM_PVPERF_EINVAL },
		{ "the highest flag", HARDWARE, 0x800000, CYCLES,
		  KVM_PVPERF_EINVAL },
		{ "sampling without a local APIC", HARDWARE,
		  KVM_PVPERF_FLAG_SAMPLING, CYCLES, KVM_PVPERF_EOPNOTSUPP },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		tap_equal(call(machine, KVM_PVPERF_OP_CHECK,
			       cases[i].type | cases[i].flags << 8,
			       (uint32_t)cases[i].config,
			       cases[i].config >> 32),
			  -cases[i].error, "CHECK of %s", cases[i].what);
	tap_equal(call(machine, KVM_PVPERF_OP_CHECK, KVM_PVPERF_TYPE_RAW,
		       RAW_EXACT, 0),
		  raw_allowed ? 0 : -KVM_PVPERF_EACCES,
		  "CHECK of a raw event");
}

static void expect_header_refused(struct machine *machine, const char *what,
				  struct kvm_pvperf_header header)
{
	machine->area->header = header;
	call_badly(machine, KVM_PVPERF_OP_SETUP, AREA_GPA, 0, 0,
		   KVM_PVPERF_EINVAL, what);
}

static void test_bad_headers(struct machine *machine)
{
	struct kvm_pvperf_header good, bad;

	write_header(machine->area);
	good = machine->area->header;

	bad = good;
	bad.magic++;
	expect_header_refused(machine, "SETUP with wrong magic", bad);
	bad = good;
	bad.version = 0;
	expect_header_refused(machine, "SETUP with version 0", bad);
	bad = good;
	bad.version++;
	expect_header_refused(machine, "SETUP with a later version", bad);
	bad = good;
	bad.header_size--;
	expect_header_refused(machine, "SETUP with wrong header_size", bad);
	bad = good;
	bad.slot_size--;
	expect_header_refused(machine, "SETUP with wrong slot_size", bad);
	bad = good;
	bad.slot_count--;
	expect_header_refused(machine, "SETUP with wrong slot_count", bad);
	bad = good;
	bad.guest_reserved[0] = 1;
	expect_header_refused(machine, "SETUP with reserved word 0", bad);
	bad = good;
	bad.guest_reserved[12] = 1;
	expect_header_refused(machine, "SETUP with reserved word 12", bad);
}

static void test_setup(struct machine *machine)
{
	struct kvm_pvperf_area *other =
		kvm_guest_memory(machine->guest, OTHER_AREA_GPA,
				 KVM_PVPERF_AREA_SIZE);
	struct kvm_pvperf_header *header = &machine->area->header;
	uint32_t former;

	set_up(machine);
	call_badly(machine, KVM_PVPERF_OP_SETUP, AREA_GPA + 8, 0, 0,
		   KVM_PVPERF_EINVAL, "SETUP of an address not aligned");
	call_badly(machine, KVM_PVPERF_OP_SETUP, NO_MEMORY_GPA, 0, 0,
		   KVM_PVPERF_EFAULT, "SETUP where no memory is");
	call_badly(machine, KVM_PVPERF_OP_SETUP, 0xfffff000, 0xffffffff, 0,
		   KVM_PVPERF_EFAULT, "SETUP at the last address");
	call_badly(machine, KVM_PVPERF_OP_SETUP, AREA_GPA, 0, 1,
		   KVM_PVPERF_EINVAL, "SETUP with a third argument");
	act_well(machine, KVM_PVPERF_OP_READ, 0, "READ after those");

	test_bad_headers(machine);

	set_up(machine);
	former = header->sequence;
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START before a new SETUP");
	write_header(other);
	memset(&other->slots[5].report, 0xff, sizeof(other->slots[5].report));
	tap_equal(set_up_at(machine, OTHER_AREA_GPA), 0,
		  "SETUP of another page");
	machine->area = other;
	tap_equal(other->header.running, 0, "nothing runs after SETUP");
	tap_ok(!memcmp(&other->slots[5].report,
		       &(struct kvm_pvperf_report){},
		       sizeof(struct kvm_pvperf_report)),
	       "SETUP writes reports of zeros");
	tap_ok(other->header.sequence != former,
	       "SETUP chooses another sequence");
	act_well(machine, KVM_PVPERF_OP_READ, 1, "READ in the other page");
	tap_equal(report(machine, 0)->state, KVM_PVPERF_STATE_CLOSED,
		  "what was open before is closed");
}

static void test_runs(struct machine *machine)
{
	const struct kvm_pvperf_header *header;

	set_up(machine);
	header = &machine->area->header;
	request(machine, 3, HARDWARE, BUS_CYCLES, 0);

	act_well(machine, KVM_PVPERF_OP_OPEN, 1 << 3, "OPEN");
	expect_report(machine, 3, KVM_PVPERF_STATE_STOPPED, 0, "opened");
	tap_equal(header->running, 0, "opened: not in running");
	write_port(machine, WRITES);

	act_well(machine, KVM_PVPERF_OP_START, 1 << 3, "START");
	expect_report(machine, 3, KVM_PVPERF_STATE_RUNNING, 0, "started");
	tap_equal(header->running, 1 << 3, "started: in running");
	write_port(machine, WRITES);

	act_well(machine, KVM_PVPERF_OP_READ, 1 << 3, "READ");
	expect_report(machine, 3, KVM_PVPERF_STATE_RUNNING, WRITES, "read");
	tap_ok(report(machine, 3)->time_enabled > 0 &&
	       report(machine, 3)->time_enabled ==
	       report(machine, 3)->time_running, "read: counted all the time");
	tap_equal(report(machine, 3)->overflows, 0, "read: no overflows");
	tap_equal(header->overflowed, 0, "read: nothing in overflowed");
	write_port(machine, 1);

	act_well(machine, KVM_PVPERF_OP_OPEN, 1 << 3, "OPEN while it runs");
	expect_report(machine, 3, KVM_PVPERF_STATE_RUNNING, WRITES + 1,
		      "opened while it runs");
	write_port(machine, 1);

	act_well(machine, KVM_PVPERF_OP_STOP, 1 << 3, "STOP");
	expect_report(machine, 3, KVM_PVPERF_STATE_STOPPED, WRITES + 2,
		      "stopped");
	tap_equal(header->running, 0, "stopped: not in running");
	write_port(machine, WRITES);

	memset(&machine->area->slots[3].report, 0xff,
	       sizeof(struct kvm_pvperf_report));
	act_well(machine, KVM_PVPERF_OP_READ, 1 << 3, "READ after STOP");
	expect_report(machine, 3, KVM_PVPERF_STATE_STOPPED, WRITES + 2,
		      "read after STOP");
	memset(&machine->area->slots[3].report, 0xff,
	       sizeof(struct kvm_pvperf_report));
	act_well(machine, KVM_PVPERF_OP_STOP, 1 << 3, "STOP again");
	expect_report(machine, 3, KVM_PVPERF_STATE_STOPPED, WRITES + 2,
		      "stopped again");

	act_well(machine, KVM_PVPERF_OP_START, 1 << 3, "START again");
	expect_report(machine, 3, KVM_PVPERF_STATE_RUNNING, 0,
		      "started again");
	write_port(machine, 7);
	act_well(machine, KVM_PVPERF_OP_START, 1 << 3, "START while it runs");
	write_port(machine, 5);
	act_well(machine, KVM_PVPERF_OP_STOP, 1 << 3, "STOP the third run");
	expect_report(machine, 3, KVM_PVPERF_STATE_STOPPED, 5,
		      "a new run forgets the old one");

	act_well(machine, KVM_PVPERF_OP_CLOSE, 1 << 3, "CLOSE");
	expect_report(machine, 3, KVM_PVPERF_STATE_CLOSED, 0, "closed");
	act_well(machine, KVM_PVPERF_OP_STOP, 1 << 3, "STOP after CLOSE");
	expect_report(machine, 3, KVM_PVPERF_STATE_CLOSED, 0,
		      "stopped after CLOSE");
}

static void test_other_event(struct machine *machine)
{
	set_up(machine);
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START of a closed slot");
	write_port(machine, 10);
	request(machine, 0, HARDWARE, BUS_CYCLES,
		KVM_PVPERF_FLAG_EXCLUDE_KERNEL);
	act_well(machine, KVM_PVPERF_OP_READ, 1, "READ after a new request");
	expect_report(machine, 0, KVM_PVPERF_STATE_RUNNING, 10,
		      "READ does not look at requests");
	act_well(machine, KVM_PVPERF_OP_START, 1, "START of another event");
	write_port(machine, 10);
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP of another event");
	expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, 0,
		      "the other event does not count at CPL 0");

	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START of the first event");
	request(machine, 0, HARDWARE, CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_OPEN, 1, "OPEN of a third event");
	expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, 0,
		      "OPEN of another event stops");
	tap_equal(machine->area->header.running, 0,
		  "OPEN of another event takes it out of running");
}

static void test_filters(struct machine *machine)
{
	static const struct {
		uint32_t flags;
		uint64_t expected;
		const char *what;
	} filters[] = {
		{ 0, 1000, "no filter" },
		{ KVM_PVPERF_FLAG_EXCLUDE_USER, 300, "exclude user" },
		{ KVM_PVPERF_FLAG_EXCLUDE_KERNEL, 700, "exclude kernel" },
		{ KVM_PVPERF_FLAG_EXCLUDE_USER |
		  KVM_PVPERF_FLAG_EXCLUDE_KERNEL, 0, "exclude both" },
	};
	int i;

	if (machine->slots < 4)
		return;
	set_up(machine);
	for (i = 0; i < 4; i++)
		request(machine, i, HARDWARE, BUS_CYCLES, filters[i].flags);
	act_well(machine, KVM_PVPERF_OP_START, 0xf, "START with filters");
	write_port(machine, 300);
	set_mode(machine, 64, 3);
	write_port(machine, 700);
	set_mode(machine, 64, 0);
	act_well(machine, KVM_PVPERF_OP_STOP, 0xf, "STOP with filters");
	for (i = 0; i < 4; i++)
		expect_report(machine, i, KVM_PVPERF_STATE_STOPPED,
			      filters[i].expected, filters[i].what);
}

static void test_all_slots(struct machine *machine)
{
	uint32_t set = machine->slots == 32 ? ~0U : (1U << machine->slots) - 1;
	uint64_t counters = test_pmu_parameter("counters");
	uint32_t i;

	set_up(machine);
	for (i = 0; i < machine->slots; i++)
		request(machine, i, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, set, "START of all slots");
	tap_equal(machine->area->header.running, set, "all slots run");
	write_port(machine, WRITES);
	act_well(machine, KVM_PVPERF_OP_STOP, set, "STOP of all slots");
	for (i = 0; i < machine->slots; i++) {
		const struct kvm_pvperf_report *slot = report(machine, i);

		if (counters >= machine->slots ||
		    slot->time_running == slot->time_enabled)
			tap_equal(slot->count, WRITES, "slot %u counts all",
				  i);
		else
			tap_ok(slot->count <= WRITES &&
			       slot->time_running < slot->time_enabled,
			       "slot %u tells that it counted a part", i);
	}

	if (machine->slots < KVM_PVPERF_SLOTS)
		call_badly(machine, KVM_PVPERF_OP_READ, 1U << machine->slots,
			   machine->area->header.sequence, 0,
			   KVM_PVPERF_EINVAL, "a slot beyond the usable ones");
}

static void test_sequence(struct machine *machine)
{
	uint32_t sequence;
	uint64_t op;

	set_up(machine);
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START");
	sequence = machine->area->header.sequence;
	for (op = KVM_PVPERF_OP_OPEN; op <= KVM_PVPERF_OP_READ; op++) {
		call_badly(machine, op, 1, sequence - 1, 0, KVM_PVPERF_ESTALE,
			   "the former sequence");
		call_badly(machine, op, 1, sequence + 1, 0, KVM_PVPERF_ESTALE,
			   "the next sequence");
	}
	machine->area->header.sequence = sequence + 100;
	tap_equal(call(machine, KVM_PVPERF_OP_READ, 1, sequence, 0), 0,
		  "the area's own sequence does not matter");
	write_port(machine, 3);
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP");
	expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, 3,
		      "stale calls disturb nothing");
	act_well(machine, KVM_PVPERF_OP_READ, 0, "READ of an empty set");
}

static void test_bad_requests(struct machine *machine)
{
	static const struct {
		const char *what;
		uint32_t state;
		struct kvm_pvperf_request request;
	} cases[] = {
		{ "undefined flag", KVM_PVPERF_STATE_INVALID,
		  { .config = CYCLES, .flags = 8 } },
		{ "reserved not zero", KVM_PVPERF_STATE_INVALID,
		  { .config = CYCLES, .reserved = { 0, 1 } } },
		{ "period without sampling", KVM_PVPERF_STATE_INVALID,
		  { .config = CYCLES, .period = 1000 } },
		{ "left without sampling", KVM_PVPERF_STATE_INVALID,
		  { .config = CYCLES, .left = 1 } },
		{ "no such type", KVM_PVPERF_STATE_UNSUPPORTED,
		  { .type = 1, .config = CYCLES } },
		{ "no such event", KVM_PVPERF_STATE_UNSUPPORTED,
		  { .config = STALLED_CYCLES } },
		{ "no such config", KVM_PVPERF_STATE_UNSUPPORTED,
		  { .config = 1ULL << 40 } },
	};
	size_t i;

	if (machine->slots < 2)
		return;
	set_up(machine);
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		machine->area->slots[1].request = cases[i].request;
		act_well(machine, KVM_PVPERF_OP_START, 3, cases[i].what);
		expect_report(machine, 1, cases[i].state, 0, cases[i].what);
		tap_equal(machine->area->header.running, 1,
			  "%s: only the other slot runs", cases[i].what);
		act_well(machine, KVM_PVPERF_OP_READ, 3, "READ after that");
		expect_report(machine, 1, cases[i].state, 0, cases[i].what);
	}

	request(machine, 1, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 3, "START of a good request");
	write_port(machine, 4);
	act_well(machine, KVM_PVPERF_OP_STOP, 3, "STOP of a good request");
	expect_report(machine, 1, KVM_PVPERF_STATE_STOPPED, 4,
		      "a slot recovers from a bad request");
}

static void test_raw(struct machine *machine, bool raw_allowed)
{
	set_up(machine);
	request(machine, 0, KVM_PVPERF_TYPE_RAW, RAW_EXACT, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START of a raw event");
	write_port(machine, 6);
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP of a raw event");
	if (raw_allowed)
		expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, 6,
			      "a raw event counts");
	else
		expect_report(machine, 0, KVM_PVPERF_STATE_DENIED, 0,
			      "a raw event is denied");
}

static void test_reset(struct machine *machine)
{
	struct kvm_pvperf_area before;

	set_up(machine);
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START before RESET");
	before = *machine->area;
	tap_equal(call(machine, KVM_PVPERF_OP_RESET, 0, 0, 0), 0, "RESET");
	tap_ok(!memcmp(&before, machine->area, sizeof(before)),
	       "RESET does not touch the area");
	call_badly(machine, KVM_PVPERF_OP_READ, 1,
		   machine->area->header.sequence, 0, KVM_PVPERF_ESTALE,
		   "READ after RESET");
	tap_equal(call(machine, KVM_PVPERF_OP_RESET, 0, 0, 0), 0,
		  "RESET again");
}

static void *read_in_thread(void *argument)
{
	struct machine *machine = argument;

	call_badly(machine, KVM_PVPERF_OP_READ, 1,
		   machine->area->header.sequence, 0, KVM_PVPERF_ESTALE,
		   "READ by another thread");
	set_up(machine);
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START in that thread");
	write_port(machine, 9);
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "STOP in that thread");
	expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, 9,
		      "another thread counts after SETUP");
	return NULL;
}

static void test_other_thread(struct machine *machine)
{
	pthread_t thread;

	set_up(machine);
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START before the thread");
	if (pthread_create(&thread, NULL, read_in_thread, machine) ||
	    pthread_join(thread, NULL))
		errx(EXIT_FAILURE, "cannot run a thread");
}

static void test_32_bit(struct machine *machine)
{
	set_mode(machine, 32, 0);
	tap_ok(has_feature_bit(machine), "32-bit: the feature bit is set");
	tap_equal(call(machine, KVM_PVPERF_OP_QUERY, 1ULL << 32, 0, 0),
		  KVM_PVPERF_ABI_MAGIC << 16 | KVM_PVPERF_ABI_VERSION,
		  "32-bit: upper halves are ignored");
	tap_equal(kvm_guest_hypercall(machine->vcpu, KVM_PVPERF_HYPERCALL,
				      KVM_PVPERF_OP_QUERY, 4, 0, 0),
		  (uint32_t)-KVM_PVPERF_EINVAL,
		  "32-bit: the upper half of an error is zero");
	set_up(machine);
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "32-bit START");
	write_port(machine, WRITES);
	act_well(machine, KVM_PVPERF_OP_STOP, 1, "32-bit STOP");
	expect_report(machine, 0, KVM_PVPERF_STATE_STOPPED, WRITES,
		      "32-bit run");
	set_mode(machine, 64, 0);
}

static void test_area_taken_away(struct machine *machine)
{
	uint32_t sequence;

	set_up(machine);
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, "START before it is gone");
	sequence = machine->area->header.sequence;
	kvm_guest_forbid_writes(machine->guest, true);
	tap_equal(call(machine, KVM_PVPERF_OP_STOP, 1, sequence, 0),
		  -KVM_PVPERF_EFAULT, "STOP with an area that is read-only");
	kvm_guest_forbid_writes(machine->guest, false);
	call_badly(machine, KVM_PVPERF_OP_READ, 1, sequence, 0,
		   KVM_PVPERF_ESTALE, "READ after that");
	call_badly(machine, KVM_PVPERF_OP_READ, 1, sequence + 1, 0,
		   KVM_PVPERF_ESTALE, "READ with the next sequence");
}

static void test_service(bool raw_allowed)
{
	uint64_t existing = test_pmu_parameter("events_existing");
	uint64_t active = test_pmu_parameter("events_active");
	struct machine machine = new_machine(0);
	struct machine with_apic;

	test_query(&machine);
	test_malformed_calls(&machine);
	test_check(&machine, raw_allowed);
	test_privilege(&machine);
	test_setup(&machine);
	test_runs(&machine);
	test_other_event(&machine);
	test_filters(&machine);
	test_all_slots(&machine);
	test_sequence(&machine);
	test_bad_requests(&machine);
	test_raw(&machine, raw_allowed);
	test_reset(&machine);
	test_32_bit(&machine);
	test_area_taken_away(&machine);
	test_other_thread(&machine);

	set_up(&machine);
	request(&machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(&machine, KVM_PVPERF_OP_START, 1, "START before the VM ends");
	tap_ok(test_pmu_parameter("events_existing") > existing,
	       "the host has an event open");

	with_apic = new_machine(KVM_GUEST_IRQCHIP);
	test_runs(&with_apic);
	kvm_guest_destroy(with_apic.guest);

	kvm_guest_destroy(machine.guest);
	tap_equal(test_pmu_parameter_settled("events_existing", existing),
		  existing, "the VM's end frees all events");
	tap_equal(test_pmu_parameter("events_active"), active,
		  "the VM's end frees all counters");
}

int main(int argc, char **argv)
{
	bool absent = false;
	bool raw_allowed = false;
	int option;

	while ((option = getopt(argc, argv, "ar")) != -1) {
		switch (option) {
		case 'a':
			absent = true;
			break;
		case 'r':
			raw_allowed = true;
			break;
		default:
			fputs(usage, stderr);
			return EXIT_FAILURE;
		}
	}
	if (optind != argc || (absent && raw_allowed)) {
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}

	if (absent)
		test_absence();
	else
		test_service(raw_allowed);
	return tap_done();
}
