// SPDX-License-Identifier: GPL-2.0
/*
 * kvm-exact [WRITES]
 *
 * Tests the test PMU itself, in the host VM: a guest makes WRITES (default
 * 20000) port writes in each mode, and events on this thread count them.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"
#include "kvm-guest.h"
#include "perf.h"
#include "tap.h"
#include "module-parameter.h"

#define RAW_EXACT	0xe0
#define RAW_SCALED	0x100

enum filter { ALL, USER, KERNEL, NO_GUEST, RAW, FILTERS };

static const char *const filter_names[FILTERS] = {
	[ALL]		= "unfiltered",
	[USER]		= "exclude_kernel",
	[KERNEL]	= "exclude_user",
	[NO_GUEST]	= "exclude_guest",
	[RAW]		= "raw",
};

static void open_exact_events(int fds[FILTERS])
{
	struct perf_event_attr attr;
	int i;

	for (i = 0; i < FILTERS; i++) {
		attr = perf_counting_attr(PERF_TYPE_HARDWARE,
					  PERF_COUNT_HW_BUS_CYCLES);
		if (i == RAW) {
			attr.type = PERF_TYPE_RAW;
			attr.config = RAW_EXACT;
		}
		attr.exclude_host = i != NO_GUEST;
		attr.exclude_guest = i == NO_GUEST;
		attr.exclude_kernel = i == USER;
		attr.exclude_user = i == KERNEL;
		fds[i] = perf_open_checked(&attr, 0, -1, -1);
	}
}

static void check_exact(const int fds[FILTERS], const char *what,
			uint64_t user, uint64_t kernel)
{
	const uint64_t expected[FILTERS] = {
		[ALL] = user + kernel, [USER] = user, [KERNEL] = kernel,
		[NO_GUEST] = 0, [RAW] = user + kernel,
	};
	int i;

	for (i = 0; i < FILTERS; i++) {
		perf_disable(fds[i], false);
		tap_equal(perf_value(fds[i]), expected[i], "%s, %s: %llu",
			  what, filter_names[i],
			  (unsigned long long)expected[i]);
		perf_reset(fds[i]);
	}
}

static void enable_all(const int fds[FILTERS])
{
	int i;

	for (i = 0; i < FILTERS; i++)
		perf_enable(fds[i], false);
}

static void test_exact(struct kvm_guest_vcpu *vcpu, uint32_t writes)
{
	static const int sizes[] = { 1, 2, 4 };
	static const int modes[] = { 64, 32 };
	int fds[FILTERS];
	char what[64];
	size_t mode, size;
	int i;

	open_exact_events(fds);
	for (mode = 0; mode < 2; mode++) {
		for (size = 0; size < 3; size++) {
			snprintf(what, sizeof(what), "%d-bit CPL 0, %d bytes",
				 modes[mode], sizes[size]);
			kvm_guest_set_mode(vcpu, modes[mode], 0);
			enable_all(fds);
			kvm_guest_port_writes(vcpu, EXACT_PORT, sizes[size],
					      writes);
			check_exact(fds, what, 0, writes);
		}
		snprintf(what, sizeof(what), "%d-bit CPL 3", modes[mode]);
		kvm_guest_set_mode(vcpu, modes[mode], 3);
		enable_all(fds);
		kvm_guest_port_writes(vcpu, EXACT_PORT, 1, writes);
		check_exact(fds, what, writes, 0);
	}

	kvm_guest_set_mode(vcpu, 64, 3);
	enable_all(fds);
	kvm_guest_port_string(vcpu, EXACT_PORT, 3000);
	check_exact(fds, "string at CPL 3", 3000, 0);

	kvm_guest_set_mode(vcpu, 64, 0);
	enable_all(fds);
	kvm_guest_port_writes(vcpu, EXACT_PORT + 1, 1, 1000);
	check_exact(fds, "another port", 0, 0);

	for (i = 0; i < FILTERS; i++)
		close(fds[i]);
}

static void open_group(const uint64_t (*events)[2], int count, int *fds)
{
	struct perf_event_attr attr;
	int i;

	for (i = 0; i < count; i++) {
		attr = perf_counting_attr(events[i][0], events[i][1]);
		attr.disabled = i == 0;
		attr.exclude_host = 1;
		fds[i] = perf_open_checked(&attr, 0, -1, i ? fds[0] : -1);
	}
}

/* Each value is rounded down at the start and at the end of a run. */
static void check_multiple(uint64_t got, uint64_t expected, const char *what)
{
	int64_t off = got - expected;

	if (!tap_ok(off >= -64 && off <= 64, "%s follow cycles", what))
		tap_note("got %llu, expected %llu", (unsigned long long)got,
			 (unsigned long long)expected);
}

static void test_time(struct kvm_guest_vcpu *vcpu)
{
	static const uint64_t events[][2] = {
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
		{ PERF_TYPE_HW_CACHE, 0x00000 },
		{ PERF_TYPE_HW_CACHE, 0x10000 },
		{ PERF_TYPE_RAW, RAW_SCALED + 63 },
	};
	const uint64_t iterations = 20000000;
	struct perf_counts idle, once, twice;
	int fds[ARRAY_SIZE(events)];
	size_t i;

	open_group(events, ARRAY_SIZE(events), fds);
	perf_enable(fds[0], true);
	usleep(100000);
	idle = perf_read(fds[0]);
	kvm_guest_spin(vcpu, iterations);
	once = perf_read(fds[0]);
	kvm_guest_spin(vcpu, 2 * iterations);
	twice = perf_read(fds[0]);
	perf_disable(fds[0], true);
	for (i = 0; i < ARRAY_SIZE(events); i++)
		close(fds[i]);

	tap_equal(idle.values[0], 0, "no cycles without a guest");
	tap_ok(once.values[0] > 0, "cycles of a guest that works");
	tap_note("cycles of a loop: %llu, of twice that: %llu",
		 (unsigned long long)once.values[0],
		 (unsigned long long)(twice.values[0] - once.values[0]));
	check_multiple(twice.values[1], twice.values[0] * 2, "instructions");
	check_multiple(twice.values[2], twice.values[0] / 64, "cache-misses");
	check_multiple(twice.values[3], twice.values[0] / 128,
		       "branch-misses");
	check_multiple(twice.values[4], twice.values[0] / 2, "L1D accesses");
	check_multiple(twice.values[5], twice.values[0] / 32, "L1D misses");
	check_multiple(twice.values[6], twice.values[0] * 63, "raw 0x13f");
	tap_ok(twice.running == twice.enabled, "all of the time counted");
}

static void expect_refusal(uint32_t type, uint64_t config, int error,
			   const char *what)
{
	struct perf_event_attr attr = perf_counting_attr(type, config);
	int fd = perf_open(&attr, 0, -1, -1);

	tap_equal(fd < 0 ? errno : 0, error, "%s: refused", what);
}

static void test_refusals(void)
{
	struct perf_event_attr attr =
		perf_counting_attr(PERF_TYPE_HARDWARE,
				   PERF_COUNT_HW_CPU_CYCLES);

	expect_refusal(PERF_TYPE_HARDWARE,
		       PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, ENOENT,
		       "stalled-cycles-frontend");
	expect_refusal(PERF_TYPE_HARDWARE, 100, ENOENT, "hardware 100");
	expect_refusal(PERF_TYPE_HW_CACHE, 0x1, ENOENT, "L1I reads");
	expect_refusal(PERF_TYPE_RAW, RAW_SCALED, ENOENT, "raw 0x100");
	expect_refusal(PERF_TYPE_RAW, RAW_SCALED + 64, ENOENT, "raw 0x140");
	expect_refusal(PERF_TYPE_RAW, 1ULL << 32 | RAW_EXACT, ENOENT,
		       "raw 0x1000000e0");
	attr.sample_period = 1000;
	attr.precise_ip = 1;
	tap_ok(perf_open(&attr, 0, -1, -1) < 0 && errno == EOPNOTSUPP,
	       "precise samples: refused");
	attr.precise_ip = 0;
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	tap_ok(perf_open(&attr, 0, -1, -1) < 0 && errno == EOPNOTSUPP,
	       "branch stacks: refused");
}

int main(int argc, char **argv)
{
	uint64_t existing, active, missed;
	struct kvm_guest_vcpu *vcpu;
	struct kvm_guest *guest;
	uint32_t writes = 20000;

	if (argc > 2)
		errx(EXIT_FAILURE, "usage: kvm-exact [WRITES]");
	if (argc == 2)
		writes = parse_number(argv[1], 1, 10000000, "WRITES");

	existing = test_pmu_parameter("events_existing");
	active = test_pmu_parameter("events_active");
	missed = test_pmu_parameter("port_writes_missed");

	guest = kvm_guest_create(0);
	vcpu = kvm_guest_add_vcpu(guest);
	test_exact(vcpu, writes);
	test_time(vcpu);
	test_refusals();
	kvm_guest_destroy(guest);

	tap_equal(test_pmu_parameter_settled("events_existing", existing),
		  existing, "all events are freed");
	tap_equal(test_pmu_parameter("events_active"), active,
		  "all counters are free");
	tap_equal(test_pmu_parameter("port_writes_missed"), missed,
		  "no port write escaped the probes");
	tap_equal(test_pmu_parameter("guest_intervals_missed"), 0,
		  "no stay in guest mode escaped the probes");
	return tap_done();
}
