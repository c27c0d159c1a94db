// SPDX-License-Identifier: GPL-2.0
/*
 * kvm-sampling exact|time
 *
 * Tests how the test PMU samples, in the host VM: a guest makes port writes, or
 * works, and events on this thread take samples of that.
 *
 * Both need no throttling of real-time tasks.  exact needs two CPUs.  time needs a
 * clock that does not go on while the CPU waits for another machine's, as the
 * virtual one.
 */
#include <err.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "host-kernel.h"
#include "kvm-guest.h"
#include "perf.h"
#include "sampler.h"
#include "tap.h"
#include "module-parameter.h"

/* More than any machine of ours takes. */
#define NO_LIMIT	100000000

#define EXACT		PERF_COUNT_HW_BUS_CYCLES
#define CYCLES		PERF_COUNT_HW_CPU_CYCLES

static const char *const way_names[WAYS] = {
	[AT_ONCE]	= "at once",
	[BY_NMI]	= "by NMI",
	[BY_TIMER]	= "by timer",
	[ANY_WAY]	= "any way",
};

/* What the test PMU says of its overflows. */
struct figures {
	uint64_t told;
	uint64_t told_by_nmi;
	uint64_t told_by_timer;
	uint64_t dropped;
	uint64_t throttles;
};

static struct figures figures_now(void)
{
	return (struct figures){
		.told = test_pmu_parameter("overflows"),
		.told_by_nmi = test_pmu_parameter("overflows_late_nmi"),
		.told_by_timer = test_pmu_parameter("overflows_late_timer"),
		.dropped = test_pmu_parameter("overflows_dropped"),
		.throttles = test_pmu_parameter("throttles"),
	};
}

static struct figures figures_since(const struct figures *before)
{
	struct figures figures = figures_now();

	figures.told -= before->told;
	figures.told_by_nmi -= before->told_by_nmi;
	figures.told_by_timer -= before->told_by_timer;
	figures.dropped -= before->dropped;
	figures.throttles -= before->throttles;
	return figures;
}

static void note_outcome(const struct outcome *outcome)
{
	tap_note("count %llu, samples %llu, next due at %llu",
		 (unsigned long long)outcome->count,
		 (unsigned long long)outcome->samples,
		 (unsigned long long)outcome->next_due);
	tap_note("late %llu, by half a period %llu, too early %llu",
		 (unsigned long long)outcome->late,
		 (unsigned long long)outcome->late_by_half_a_period,
		 (unsigned long long)outcome->too_early);
}

static void note_figures(const struct figures *figures)
{
	tap_note("told %llu, by NMI %llu, by timer %llu",
		 (unsigned long long)figures->told,
		 (unsigned long long)figures->told_by_nmi,
		 (unsigned long long)figures->told_by_timer);
	tap_note("dropped %llu, throttles %llu",
		 (unsigned long long)figures->dropped,
		 (unsigned long long)figures->throttles);
}

/*
 * What holds for all runs.  A drop, as by a task that is switched away, puts off
 * what was due by a period, and with that all the rest.
 */
static void check_samples(const struct outcome *outcome, uint64_t period,
			  uint64_t dropped, const char *what)
{
	tap_equal(outcome->sum_of_periods, outcome->samples * period,
		  "%s: samples have the right period", what);
	if (!tap_ok(dropped || (!outcome->too_early &&
				outcome->count < outcome->next_due),
		    "%s: and the right places", what))
		note_outcome(outcome);
	tap_equal(outcome->throttled + outcome->others, 0,
		  "%s: there is nothing else", what);
}

static void check_way(const struct figures *figures, enum way way,
		      const char *what)
{
	const uint64_t told_by[] = {
		[AT_ONCE] = figures->told - figures->told_by_nmi -
			    figures->told_by_timer,
		[BY_NMI] = figures->told_by_nmi,
		[BY_TIMER] = figures->told_by_timer,
	};
	bool good;

	if (way == ANY_WAY)
		good = told_by[AT_ONCE] && told_by[BY_NMI] && told_by[BY_TIMER];
	else
		good = figures->told && told_by[way] == figures->told;
	if (!tap_ok(good, "%s: perf is told that way", what))
		note_figures(figures);
}

/* An NMI comes before the guest goes on; a timer need not. */
static bool comes_in_time(enum way way)
{
	return way == AT_ONCE || way == BY_NMI;
}

/* Several events at once: all may overflow at the same write. */
static void test_writes(struct kvm_guest_vcpu *vcpu, enum way way,
			uint32_t writes)
{
	static const uint64_t periods[] = { 1, 7, 1000 };
	struct perf_event_attr attr = sampling_attr(EXACT, 1);
	struct figures figures = figures_now();
	struct sampler samplers[ARRAY_SIZE(periods)];
	struct outcome outcomes[ARRAY_SIZE(periods)];
	uint64_t samples = 0;
	char what[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		attr.sample_period = periods[i];
		samplers[i] = open_sampler(&attr, 0, -1);
		perf_enable(samplers[i].fd, false);
	}
	kvm_guest_port_writes(vcpu, EXACT_PORT, 1, writes);
	/* The last overflow may still be late. */
	spin(NSEC_PER_MSEC);
	for (i = 0; i < ARRAY_SIZE(periods); i++)
		outcomes[i] = end_sampling(&samplers[i]);
	figures = figures_since(&figures);

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		snprintf(what, sizeof(what), "%s, period %llu", way_names[way],
			 (unsigned long long)periods[i]);
		tap_equal(outcomes[i].count, writes, "%s: counted", what);
		if (comes_in_time(way)) {
			tap_equal(outcomes[i].samples, writes / periods[i],
				  "%s: number of samples", what);
			tap_equal(outcomes[i].late, 0, "%s: none late", what);
		} else {
			tap_ok(outcomes[i].samples > 0 &&
			       outcomes[i].samples <= writes / periods[i],
			       "%s: number of samples", what);
		}
		note_outcome(&outcomes[i]);
		check_samples(&outcomes[i], periods[i], figures.dropped, what);
		samples += outcomes[i].samples;
		close_sampler(&samplers[i]);
	}
	tap_equal(samples, figures.told, "%s: each overflow is a sample",
		  way_names[way]);
	check_way(&figures, way, way_names[way]);
	note_figures(&figures);
}

/*
 * The elements of a string follow each other without the guest, so only what
 * notices each of them is in time.
 */
static void test_string(struct kvm_guest_vcpu *vcpu)
{
	struct perf_event_attr attr = sampling_attr(EXACT, 7);
	struct sampler sampler = open_sampler(&attr, 0, -1);
	const uint32_t elements = 3000;
	struct outcome outcome;

	perf_enable(sampler.fd, false);
	kvm_guest_port_string(vcpu, EXACT_PORT, elements);
	outcome = end_sampling(&sampler);
	close_sampler(&sampler);
	tap_equal(outcome.samples, elements / 7, "string: number of samples");
	tap_equal(outcome.late, 0, "string: none late");
	check_samples(&outcome, 7, 0, "string");
}

static void test_filter(struct kvm_guest_vcpu *vcpu)
{
	struct perf_event_attr attr = sampling_attr(EXACT, 7);
	const uint32_t writes = 1000;
	struct outcome outcome;
	struct sampler sampler;

	attr.exclude_kernel = 1;
	sampler = open_sampler(&attr, 0, -1);
	perf_enable(sampler.fd, false);
	kvm_guest_port_writes(vcpu, EXACT_PORT, 1, writes);
	kvm_guest_set_mode(vcpu, 64, 3);
	kvm_guest_port_writes(vcpu, EXACT_PORT, 1, writes);
	kvm_guest_set_mode(vcpu, 64, 0);
	kvm_guest_port_writes(vcpu, EXACT_PORT, 1, writes);
	outcome = end_sampling(&sampler);
	close_sampler(&sampler);
	tap_equal(outcome.samples, writes / 7, "user mode only: as many");
	check_samples(&outcome, 7, 0, "user mode only");
}

/* For much longer at a time than the periods of the events here. */
static void work_in_guest(struct kvm_guest_vcpu *vcpu, int fd, uint64_t nsec)
{
	while (perf_value(fd) < nsec)
		kvm_guest_spin(vcpu, 50000000);
}

static void work_in_host(int fd, uint64_t nsec)
{
	while (perf_value(fd) < nsec)
		spin(NSEC_PER_MSEC);
}

static void stop_fifo_scheduling(void)
{
	const struct sched_param parameters = {};

	if (sched_setscheduler(0, SCHED_OTHER, &parameters))
		err(EXIT_FAILURE, "no ordinary scheduling");
}

/* An event of a thread that is switched away drops its overflow. */
static void test_time(struct kvm_guest_vcpu *vcpu, enum way way, bool in_guest)
{
	const uint64_t period = 2 * NSEC_PER_MSEC;
	const uint64_t duration = 300 * NSEC_PER_MSEC;
	struct perf_event_attr attr = sampling_attr(CYCLES, period);
	struct figures figures = figures_now();
	struct outcome outcome;
	struct sampler sampler;
	char what[64];

	attr.exclude_host = in_guest;
	sampler = open_sampler(&attr, 0, -1);
	use_fifo_scheduling();
	perf_enable(sampler.fd, false);
	if (in_guest)
		work_in_guest(vcpu, sampler.fd, duration);
	else
		work_in_host(sampler.fd, duration);
	outcome = end_sampling(&sampler);
	stop_fifo_scheduling();
	close_sampler(&sampler);
	figures = figures_since(&figures);

	snprintf(what, sizeof(what), "%s, time in %s", way_names[way],
		 in_guest ? "guest" : "host");
	check_samples(&outcome, period, figures.dropped, what);
	tap_equal(outcome.samples, figures.told,
		  "%s: each overflow is a sample", what);
	check_way(&figures, way, what);
	/* If only the kernel's tick ended stays, nearly all would be late. */
	tap_ok(outcome.samples > outcome.count / period * 9 / 10 &&
	       outcome.late_by_half_a_period < outcome.samples / 10,
	       "%s: nearly all are on time", what);
	note_outcome(&outcome);
}

static void test_frequency(struct kvm_guest_vcpu *vcpu)
{
	struct perf_event_attr attr = sampling_attr(CYCLES, 0);
	struct sampler sampler;
	struct outcome outcome;
	uint64_t expected;

	attr.freq = 1;
	attr.sample_freq = 1000;
	sampler = open_sampler(&attr, 0, -1);
	perf_enable(sampler.fd, false);
	work_in_guest(vcpu, sampler.fd, 600 * NSEC_PER_MSEC);
	outcome = end_sampling(&sampler);
	close_sampler(&sampler);

	/* Some more, since it begins with a period of 1. */
	expected = outcome.count / NSEC_PER_MSEC;
	tap_ok(outcome.samples > expected / 3 && outcome.samples < expected * 3,
	       "about as many samples as the frequency says");
	tap_note("%llu samples for a frequency that means %llu",
		 (unsigned long long)outcome.samples,
		 (unsigned long long)expected);
}

static void test_throttling(struct kvm_guest_vcpu *vcpu, uint32_t writes)
{
	struct perf_event_attr attr = sampling_attr(EXACT, 1);
	struct figures figures = figures_now();
	struct outcome outcome;
	struct sampler sampler;

	set_sample_rate(1000);
	sampler = open_sampler(&attr, 0, -1);
	perf_enable(sampler.fd, false);
	kvm_guest_port_writes(vcpu, EXACT_PORT, 1, writes);
	outcome = end_sampling(&sampler);
	close_sampler(&sampler);
	set_sample_rate(NO_LIMIT);
	figures = figures_since(&figures);

	tap_ok(figures.throttles > 1, "throttled more than once");
	tap_equal(outcome.throttled, figures.throttles,
		  "throttled: the test PMU stops the event");
	tap_ok(outcome.count < writes, "throttled: not all is counted");
	tap_equal(outcome.samples, outcome.count,
		  "throttled: what is counted has its samples");
	tap_equal(outcome.late + outcome.too_early, 0,
		  "throttled: in the right places");
}

static void wait_for_record(const struct sampler *sampler, uint64_t position)
{
	uint64_t end = now() + 10 * NSEC_PER_SEC;

	while (sampler_position(sampler) == position && now() < end)
		;
}

/*
 * One port write by @sampler's CPU, and its sample while the thread is in user
 * mode, on CPU @move_to unless that is negative.
 */
static void check_late_sample(struct kvm_guest_vcpu *vcpu,
			      const struct sampler *sampler, int move_to,
			      const char *what)
{
	uint64_t delay = test_pmu_parameter("late_ns");
	uint64_t position = sampler_position(sampler);
	struct figures figures = figures_now();
	struct outcome outcome;
	uint64_t start;

	/* An event of a thread that is switched away drops its overflow. */
	use_fifo_scheduling();
	perf_enable(sampler->fd, false);
	start = now();
	kvm_guest_port_writes(vcpu, EXACT_PORT, 1, 1);
	if (move_to >= 0)
		pin_to_cpu(move_to);
	wait_for_record(sampler, position);
	tap_ok(now() - start >= delay, "%s: late", what);
	stop_fifo_scheduling();
	outcome = end_sampling(sampler);
	figures = figures_since(&figures);

	tap_equal(outcome.samples, 1, "%s: one sample", what);
	tap_equal(outcome.late, 0, "%s: nothing happened since", what);
	check_samples(&outcome, 1, 0, what);
	check_way(&figures, BY_TIMER, what);
}

static void test_late_timer(struct kvm_guest_vcpu *vcpu)
{
	struct perf_event_attr attr = sampling_attr(EXACT, 1);
	uint64_t default_delay = test_pmu_parameter("late_ns");
	int first_cpu = usable_cpu(0), second_cpu = usable_cpu(1);
	struct sampler sampler;

	set_test_pmu_parameter("late", BY_TIMER);
	set_test_pmu_parameter("late_ns", 50 * NSEC_PER_MSEC);

	sampler = open_sampler(&attr, 0, -1);
	check_late_sample(vcpu, &sampler, -1, "after the guest");
	close_sampler(&sampler);

	pin_to_cpu(first_cpu);
	sampler = open_sampler(&attr, -1, first_cpu);
	check_late_sample(vcpu, &sampler, second_cpu, "after the thread has moved");
	close_sampler(&sampler);

	set_test_pmu_parameter("late_ns", default_delay);
	set_test_pmu_parameter("late", AT_ONCE);
}

/* Writes, and waits for the one sample that is due meanwhile. */
static void write_until_sampled(struct kvm_guest_vcpu *vcpu,
				const struct sampler *sampler, enum way way,
				uint32_t writes)
{
	uint64_t position = sampler_position(sampler);

	set_test_pmu_parameter("late", way);
	kvm_guest_port_writes(vcpu, EXACT_PORT, 1, writes);
	wait_for_record(sampler, position);
}

/* What is due after a late sample. */
static void test_late_steps(struct kvm_guest_vcpu *vcpu)
{
	struct perf_event_attr attr = sampling_attr(EXACT, 10);
	uint64_t default_delay = test_pmu_parameter("late_ns");
	struct sampler sampler = open_sampler(&attr, 0, -1);
	struct outcome outcome;

	set_test_pmu_parameter("late_ns", 200 * NSEC_PER_MSEC);
	use_fifo_scheduling();
	perf_enable(sampler.fd, false);
	/* Due at 10, sampled at 13. */
	write_until_sampled(vcpu, &sampler, BY_TIMER, 13);
	/* So at 20. */
	write_until_sampled(vcpu, &sampler, AT_ONCE, 7);
	/* Due at 30, sampled at 45. */
	write_until_sampled(vcpu, &sampler, BY_TIMER, 25);
	/* So at 55, not at 50. */
	write_until_sampled(vcpu, &sampler, AT_ONCE, 10);
	stop_fifo_scheduling();
	outcome = end_sampling(&sampler);
	close_sampler(&sampler);
	set_test_pmu_parameter("late_ns", default_delay);

	tap_equal(outcome.count, 55, "after late samples: counted");
	tap_equal(outcome.samples, 4, "after late samples: the next are due");
	tap_equal(outcome.late, 2, "after late samples: the next are in time");
	tap_equal(outcome.next_due, 65, "after late samples: in step");
	check_samples(&outcome, 10, 0, "after late samples");
	note_outcome(&outcome);
}

static void test_drop(struct kvm_guest_vcpu *vcpu)
{
	struct perf_event_attr attr = sampling_attr(EXACT, 1);
	uint64_t default_delay = test_pmu_parameter("late_ns");
	struct sampler sampler = open_sampler(&attr, 0, -1);
	struct figures figures = figures_now();
	struct outcome outcome;

	set_test_pmu_parameter("late", BY_TIMER);
	set_test_pmu_parameter("late_ns", 4 * NSEC_PER_SEC);
	perf_enable(sampler.fd, false);
	kvm_guest_port_writes(vcpu, EXACT_PORT, 1, 1);
	outcome = end_sampling(&sampler);
	figures = figures_since(&figures);
	tap_equal(figures.told + outcome.samples, 0, "stopped first: no sample");
	tap_equal(figures.dropped, 1, "stopped first: dropped");
	tap_equal(outcome.count, 1, "stopped first: counted");

	set_test_pmu_parameter("late_ns", default_delay);
	set_test_pmu_parameter("late", AT_ONCE);
	perf_enable(sampler.fd, false);
	kvm_guest_port_writes(vcpu, EXACT_PORT, 1, 1);
	outcome = end_sampling(&sampler);
	tap_equal(outcome.samples, 1, "after a drop: sampled again");
	tap_equal(outcome.count, 2, "after a drop: counted");
	close_sampler(&sampler);
}

static void test_all_exact(struct kvm_guest_vcpu *vcpu)
{
	const uint32_t writes = 20000;
	enum way way;

	for (way = AT_ONCE; way < WAYS; way++) {
		set_test_pmu_parameter("late", way);
		test_writes(vcpu, way, writes);
	}
	set_test_pmu_parameter("late", AT_ONCE);
	test_string(vcpu);
	test_filter(vcpu);
	test_throttling(vcpu, writes);
	test_drop(vcpu);
	test_late_steps(vcpu);
	test_late_timer(vcpu);
}

static void test_all_time(struct kvm_guest_vcpu *vcpu)
{
	enum way way;

	for (way = AT_ONCE; way < WAYS; way++) {
		set_test_pmu_parameter("late", way);
		test_time(vcpu, way, true);
		test_time(vcpu, way, false);
	}
	set_test_pmu_parameter("late", AT_ONCE);
	test_frequency(vcpu);
}

int main(int argc, char **argv)
{
	uint64_t existing, rate;
	struct kvm_guest_vcpu *vcpu;
	struct kvm_guest *guest;
	void (*test)(struct kvm_guest_vcpu *vcpu);

	if (argc == 2 && !strcmp(argv[1], "exact"))
		test = test_all_exact;
	else if (argc == 2 && !strcmp(argv[1], "time"))
		test = test_all_time;
	else
		errx(EXIT_FAILURE, "usage: kvm-sampling exact|time");

	existing = test_pmu_parameter("events_existing");
	rate = sample_rate();
	set_sample_rate(NO_LIMIT);
	guest = kvm_guest_create(0);
	vcpu = kvm_guest_add_vcpu(guest);
	test(vcpu);
	kvm_guest_destroy(guest);
	set_sample_rate(rate);

	tap_equal(test_pmu_parameter_settled("events_existing", existing),
		  existing, "all events are freed");
	tap_equal(test_pmu_parameter("port_writes_missed"), 0,
		  "no port write escaped the probes");
	tap_equal(test_pmu_parameter("guest_intervals_missed"), 0,
		  "no stay in guest mode escaped the probes");
	return tap_done();
}
