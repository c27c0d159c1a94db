// SPDX-License-Identifier: GPL-2.0
/*
 * Tests, in the host VM with the test PMU, what the parameters of the host's
 * module do to guests that run while they are changed, and which VMs have the
 * feature: those whose VMM copies what KVM supports, and those whose VMM clears
 * what it does not know.
 */
#include <err.h>
#include <errno.h>
#include <linux/kvm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi-machine.h"
#include "common.h"
#include "module-parameter.h"
#include "tap.h"

#define FEATURE			(1U << KVM_PVPERF_FEATURE_BIT)
#define FEATURES_LEAF		0x40000001
#define RAW_EXACT		0xe0
#define SAMPLING		KVM_PVPERF_FLAG_SAMPLING
#define TABLE_ENTRIES		256

struct table {
	struct kvm_cpuid2 head;
	struct kvm_cpuid_entry2 entries[TABLE_ENTRIES];
};

static struct kvm_cpuid_entry2 *features_of(struct kvm_cpuid2 *cpuid)
{
	uint32_t i;

	for (i = 0; i < cpuid->nent; i++)
		if (cpuid->entries[i].function == FEATURES_LEAF)
			return &cpuid->entries[i];
	errx(EXIT_FAILURE, "KVM supports no leaf %#x", FEATURES_LEAF);
}

static struct table *supported_cpuid(const struct machine *machine)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		err(EXIT_FAILURE, "calloc");
	table->head.nent = TABLE_ENTRIES;
	if (ioctl(kvm_guest_kvm_fd(machine->guest), KVM_GET_SUPPORTED_CPUID,
		  table))
		err(EXIT_FAILURE, "KVM_GET_SUPPORTED_CPUID");
	return table;
}

/* A VM whose VMM copies what KVM supports, or one that does not know the bit. */
static struct machine new_vm(bool copies)
{
	struct machine machine = { .guest = kvm_guest_create(0) };

	if (!copies)
		features_of(kvm_guest_vcpus_cpuid(machine.guest))->eax &=
			~FEATURE;
	machine.vcpu = kvm_guest_add_vcpu(machine.guest);
	set_mode(&machine, 64, 0);
	machine.area = kvm_guest_memory(machine.guest, AREA_GPA,
					KVM_PVPERF_AREA_SIZE);
	return machine;
}

static int64_t query(struct machine *machine, uint64_t item)
{
	return call(machine, KVM_PVPERF_OP_QUERY, item, 0, 0);
}

static void expect_service(struct machine *machine, bool is_offered,
			   const char *what)
{
	tap_equal(has_feature_bit(machine), is_offered, "%s: the bit", what);
	tap_equal(query(machine, KVM_PVPERF_QUERY_ABI), is_offered ?
		  KVM_PVPERF_ABI_MAGIC << 16 | KVM_PVPERF_ABI_VERSION :
		  -KVM_PVPERF_ENOSYS, "%s: QUERY", what);
}

static void test_offers(void)
{
	static const struct {
		const char *choice;
		bool is_supported;
		bool copier_has_it;
		bool other_has_it;
	} cases[] = {
		{ "all", false, true, true },
		{ "vmm", true, true, false },
		{ "none", false, false, false },
	};
	struct machine copier, other;
	char what[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		set_host_parameter("advertise", cases[i].choice);
		copier = new_vm(true);
		other = new_vm(false);
		tap_equal(!!(features_of(&supported_cpuid(&other)->head)->eax &
			     FEATURE),
			  cases[i].is_supported,
			  "advertise=%s: the bit among what KVM supports",
			  cases[i].choice);
		snprintf(what, sizeof(what), "advertise=%s, a VMM that copies",
			 cases[i].choice);
		expect_service(&copier, cases[i].copier_has_it, what);
		snprintf(what, sizeof(what), "advertise=%s, one that does not",
			 cases[i].choice);
		expect_service(&other, cases[i].other_has_it, what);
		kvm_guest_destroy(copier.guest);
		kvm_guest_destroy(other.guest);
	}
	set_host_parameter("advertise", "all");
}

/* Its entries would be where nothing can be written. */
static struct kvm_cpuid2 *head_at_end_of_memory(void)
{
	const long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE))
		err(EXIT_FAILURE, "mmap");
	return (struct kvm_cpuid2 *)(pages + page) - 1;
}

/* The bit is all that differs, and errors are those of KVM. */
static void test_supported_cpuid(void)
{
	struct machine machine = new_machine(0);
	int kvm = kvm_guest_kvm_fd(machine.guest);
	struct table *without = supported_cpuid(&machine), *with;
	struct kvm_cpuid2 *head;

	set_host_parameter("advertise", "vmm");
	with = supported_cpuid(&machine);
	tap_equal(features_of(&with->head)->eax,
		  features_of(&without->head)->eax | FEATURE,
		  "the bit is added to what KVM supports");
	features_of(&with->head)->eax &= ~FEATURE;
	tap_ok(!memcmp(with, without, sizeof(*with)),
	       "and nothing else is changed");

	with->head.nent = 3;
	tap_ok(ioctl(kvm, KVM_GET_SUPPORTED_CPUID, with) && errno == E2BIG,
	       "a table that is too small: E2BIG");
	with->head.nent = TABLE_ENTRIES;
	tap_equal(ioctl(kvm, KVM_GET_EMULATED_CPUID, with), 0,
		  "what KVM emulates can be had");
	with->head.nent = TABLE_ENTRIES;

	head = head_at_end_of_memory();
	*head = with->head;
	tap_ok(ioctl(kvm, KVM_GET_SUPPORTED_CPUID, head) && errno == EFAULT,
	       "a table where no memory is: EFAULT");

	set_host_parameter("advertise", "all");
	free(with);
	free(without);
	kvm_guest_destroy(machine.guest);
}

static void start_exact(struct machine *machine, const char *what)
{
	set_up(machine);
	request(machine, 0, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, what);
}

static void expect_exact(struct machine *machine, uint64_t count,
			 const char *what)
{
	act_well(machine, KVM_PVPERF_OP_READ, 1, what);
	expect_report(machine, 0, KVM_PVPERF_STATE_RUNNING, count, what);
}

/* From one choice to the next while guests count. */
static void test_change_of_advertise(void)
{
	struct machine copier, other;

	set_host_parameter("advertise", "vmm");
	copier = new_vm(true);
	other = new_vm(false);
	set_host_parameter("advertise", "all");
	start_exact(&copier, "all: START by a VMM that copies");
	start_exact(&other, "all: START by another");
	tap_equal(host_parameter("events_open"), 2, "all: two events are open");

	set_host_parameter("advertise", "vmm");
	write_port(&copier, 5);
	expect_exact(&copier, 5, "from all to vmm: where the VMM copies");
	expect_service(&other, false, "from all to vmm: where it does not");
	tap_equal(host_parameter("events_open"), 1,
		  "from all to vmm: the other's event is closed");

	set_host_parameter("advertise", "none");
	tap_ok(has_feature_bit(&copier),
	       "from vmm to none: the bit is the VMM's");
	tap_equal(query(&copier, KVM_PVPERF_QUERY_ABI), -KVM_PVPERF_ENOSYS,
		  "from vmm to none: but nobody serves the guest");
	tap_equal(host_parameter("events_open"), 0,
		  "from vmm to none: nothing is open");

	set_host_parameter("advertise", "all");
	call_badly(&copier, KVM_PVPERF_OP_READ, 0,
		   copier.area->header.sequence, 0, KVM_PVPERF_ESTALE,
		   "from none to all: READ");
	start_exact(&other, "from none to all: START");
	write_port(&other, 7);
	expect_exact(&other, 7, "from none to all");

	kvm_guest_destroy(copier.guest);
	kvm_guest_destroy(other.guest);
}

static void test_change_of_slots(void)
{
	const uint32_t last = 1U << (KVM_PVPERF_SLOTS - 1);
	struct machine machine = new_machine(0);

	set_up(&machine);
	request(&machine, KVM_PVPERF_SLOTS - 1, HARDWARE, BUS_CYCLES, 0);
	act_well(&machine, KVM_PVPERF_OP_START, last, "START of the last slot");
	set_host_parameter("max_events", "4");
	tap_equal(query(&machine, KVM_PVPERF_QUERY_SLOTS), 4,
		  "max_events: told to those who ask");
	write_port(&machine, 3);
	act_well(&machine, KVM_PVPERF_OP_STOP, last,
		 "max_events: a vCPU that has set up keeps its slots");
	expect_report(&machine, KVM_PVPERF_SLOTS - 1, KVM_PVPERF_STATE_STOPPED,
		      3, "max_events: and counts there");

	set_up(&machine);
	call_badly(&machine, KVM_PVPERF_OP_START, last,
		   machine.area->header.sequence, 0, KVM_PVPERF_EINVAL,
		   "max_events: after SETUP it does not");
	call_badly(&machine, KVM_PVPERF_OP_START, 1U << 4,
		   machine.area->header.sequence, 0, KVM_PVPERF_EINVAL,
		   "max_events: the first slot too many");
	act_well(&machine, KVM_PVPERF_OP_START, 1U << 3,
		 "max_events: the last one left");
	set_host_parameter("max_events", "32");
	kvm_guest_destroy(machine.guest);
}

static void open_three(struct machine *machine)
{
	int i;

	set_up(machine);
	for (i = 0; i < 4; i++)
		request(machine, i, HARDWARE, BUS_CYCLES, 0);
	act_well(machine, KVM_PVPERF_OP_START, 0x7, "START of three");
}

static void expect_limit(struct machine *machine, int slot, const char *what)
{
	act_well(machine, KVM_PVPERF_OP_START, 1U << slot, what);
	expect_report(machine, slot, KVM_PVPERF_STATE_LIMIT, 0, what);
}

/* One VM has three events open, the other wants one. */
static void test_change_of_total(void)
{
	struct machine first = new_machine(0), second = new_machine(0);

	open_three(&first);
	set_up(&second);
	request(&second, 0, HARDWARE, BUS_CYCLES, 0);

	set_host_parameter("max_events_total", "3");
	expect_limit(&second, 0, "max_events_total: the other VM's first");
	expect_limit(&first, 3, "max_events_total: a fourth");
	act_well(&first, KVM_PVPERF_OP_CLOSE, 1, "CLOSE of one");
	act_well(&second, KVM_PVPERF_OP_START, 1, "START in its place");
	write_port(&second, 9);
	expect_exact(&second, 9, "max_events_total: in its place");

	set_host_parameter("max_events_total", "0");
	tap_equal(host_parameter("events_open"), 3,
		  "max_events_total=0: what is open stays");
	act_well(&first, KVM_PVPERF_OP_START, 0x6, "START of the same again");
	write_port(&first, 2);
	act_well(&first, KVM_PVPERF_OP_STOP, 0x6, "STOP of the same");
	expect_report(&first, 1, KVM_PVPERF_STATE_STOPPED, 2,
		      "max_events_total=0: and starts again");
	expect_limit(&first, 0, "max_events_total=0: what was closed");

	set_host_parameter("max_events_total", "4096");
	act_well(&first, KVM_PVPERF_OP_START, 1, "START once more are allowed");
	write_port(&first, 4);
	expect_exact(&first, 4, "max_events_total: once more are allowed");
	kvm_guest_destroy(first.guest);
	kvm_guest_destroy(second.guest);
}

static void request_samples(struct machine *machine, uint64_t period)
{
	request(machine, 0, HARDWARE, BUS_CYCLES, SAMPLING);
	machine->area->slots[0].request.period = period;
	machine->area->slots[0].request.left = period;
}

static void test_change_of_period(void)
{
	struct machine machine = new_machine(KVM_GUEST_IRQCHIP);

	set_up(&machine);
	request_samples(&machine, 99);
	act_well(&machine, KVM_PVPERF_OP_START, 1, "START of period 99");
	set_host_parameter("min_period", "100");
	tap_equal(query(&machine, KVM_PVPERF_QUERY_MIN_PERIOD), 100,
		  "min_period: told to those who ask");
	write_port(&machine, 300);
	expect_exact(&machine, 300, "min_period: a run goes on");
	tap_equal(report(&machine, 0)->overflows, 3,
		  "min_period: with its period");
	act_well(&machine, KVM_PVPERF_OP_START, 1, "START of 99 again");
	expect_report(&machine, 0, KVM_PVPERF_STATE_INVALID, 0,
		      "min_period: the next does not begin");
	request_samples(&machine, 100);
	act_well(&machine, KVM_PVPERF_OP_START, 1, "START of 100");
	expect_report(&machine, 0, KVM_PVPERF_STATE_RUNNING, 0,
		      "min_period: one that is long enough does");
	set_host_parameter("min_period", "1");
	kvm_guest_destroy(machine.guest);
}

static void expect_denied(struct machine *machine, const char *what)
{
	tap_equal(call(machine, KVM_PVPERF_OP_CHECK, KVM_PVPERF_TYPE_RAW,
		       RAW_EXACT, 0), -KVM_PVPERF_EACCES, "%s: CHECK", what);
	request(machine, 0, KVM_PVPERF_TYPE_RAW, RAW_EXACT, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, what);
	expect_report(machine, 0, KVM_PVPERF_STATE_DENIED, 0, what);
}

static void expect_allowed(struct machine *machine, const char *what)
{
	tap_equal(call(machine, KVM_PVPERF_OP_CHECK, KVM_PVPERF_TYPE_RAW,
		       RAW_EXACT, 0), 0, "%s: CHECK", what);
	request(machine, 0, KVM_PVPERF_TYPE_RAW, RAW_EXACT, 0);
	act_well(machine, KVM_PVPERF_OP_START, 1, what);
	write_port(machine, 6);
	expect_exact(machine, 6, what);
}

static void set_filter(struct machine *machine, uint32_t action,
		       uint64_t event)
{
	struct {
		struct kvm_pmu_event_filter head;
		__u64 events[1];
	} filter = {
		.head = { .action = action, .nevents = 1 },
		.events = { event },
	};

	if (ioctl(kvm_guest_fd(machine->guest), KVM_SET_PMU_EVENT_FILTER,
		  &filter))
		err(EXIT_FAILURE, "KVM_SET_PMU_EVENT_FILTER");
	act_well(machine, KVM_PVPERF_OP_CLOSE, 1, "CLOSE before a new filter");
}

static void test_raw_events(void)
{
	struct machine machine = new_machine(0);

	set_up(&machine);
	expect_denied(&machine, "raw events are denied by default");
	set_host_parameter("allow_raw", "Y");
	expect_allowed(&machine, "allow_raw");
	set_host_parameter("allow_raw", "N");
	write_port(&machine, 1);
	expect_exact(&machine, 7, "allow_raw=N: one that is open stays");
	act_well(&machine, KVM_PVPERF_OP_CLOSE, 1, "CLOSE of it");
	expect_denied(&machine, "allow_raw=N: the next");

	set_host_parameter("allow_raw", "Y");
	set_filter(&machine, KVM_PMU_EVENT_DENY, RAW_EXACT);
	expect_denied(&machine, "on the VMM's list of those to deny");
	set_filter(&machine, KVM_PMU_EVENT_ALLOW, RAW_EXACT + 1);
	expect_denied(&machine, "not on its list of those to allow");
	set_filter(&machine, KVM_PMU_EVENT_ALLOW, RAW_EXACT);
	expect_allowed(&machine, "on its list of those to allow");
	set_filter(&machine, KVM_PMU_EVENT_DENY, RAW_EXACT + 1);
	expect_allowed(&machine, "not on its list of those to deny");
	set_host_parameter("allow_raw", "N");
	kvm_guest_destroy(machine.guest);
}

int main(int argc, char **argv)
{
	if (argc != 1) {
		fprintf(stderr, "usage: %s\n", argv[0]);
		return EXIT_FAILURE;
	}

	test_offers();
	test_supported_cpuid();
	test_change_of_advertise();
	test_change_of_slots();
	test_change_of_total();
	test_change_of_period();
	test_raw_events();
	tap_equal(host_parameter_settled("events_open", 0), 0,
		  "nothing is left open");
	return tap_done();
}
