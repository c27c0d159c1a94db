// SPDX-License-Identifier: GPL-2.0
/*
 * Samples a known number of port writes, and accounts for each of them.
 */
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "guest-sampler.h"
#include "perf.h"
#include "scheduling.h"

#define MAX_EVENTS	32
#define MAX_PERIODS	8
#define MAX_CPUS	8
#define MAX_NUMBER	100000000UL
#define WRITES_BETWEEN_SIGNALS	1000

static const char usage[] =
"usage: exact-sample [-u WRITES] [-k WRITES] [-p PERIOD[,PERIOD]... | -F HZ]\n"
"                    [-e EVENTS] [-m MEMBERS] [-c | -a] [-x user|kernel] [-r]\n"
"                    [-s EVERY] [-M EVERY] [-i EVERY] [-l SAMPLES | -t]\n"
"                    [-f | -g]\n"
"  -u WRITES    make WRITES port writes in user mode\n"
"  -k WRITES    after that, make WRITES port writes in kernel mode\n"
"  -p PERIOD    take a sample every PERIOD writes (default 1); where there are\n"
"               more events than periods, these are given out in turn\n"
"  -F HZ        sample by frequency instead\n"
"  -e EVENTS    with EVENTS events at once (1 to 32, default 1)\n"
"  -m MEMBERS   each is the leader of a group with MEMBERS that count\n"
"  -c           each event is of this task on one CPU, and there is another for\n"
"               each other CPU\n"
"  -a           the same, but of all tasks\n"
"  -x MODE      exclude user or kernel\n"
"  -r           name the event by its raw number\n"
"  -s EVERY     be scheduled out every EVERY writes\n"
"  -M EVERY     migrate between CPU 0 and 1 every EVERY writes\n"
"  -i EVERY     sleep for 20 ms every EVERY writes\n"
"  -l SAMPLES   so many samples may be late (default 0)\n"
"  -t           there will be throttling: count less, but say so\n"
"  -f           have a child make the writes, and exit at once after the last\n"
"  -g           before each phase (work, end) print \"ready PHASE\" and wait for a\n"
"               line on standard input; run with real-time priority\n"
"With -t, SIGTERM has it make no more writes, and go on with the end.\n"
"Prints one line of NAME=NUMBER with the findings of all events together, and\n"
"says what is wrong with them.  Fails if anything is: each event must count\n"
"exactly, and with each PERIOD have floor(count / PERIOD) periods in its\n"
"samples, each in its mode at the instruction behind the write, of this task and\n"
"on the event's CPU, with the right count of each event of the group.  A sample\n"
"that holds several periods, is elsewhere or has other counts is late; with -a\n"
"it may be of another task then.  It never tells of a kernel that is excluded.\n";

struct options {
	uint64_t user;
	uint64_t kernel;
	uint64_t periods[MAX_PERIODS];
	unsigned int period_count;
	uint64_t frequency;
	unsigned int events;
	unsigned int members;
	bool is_per_cpu;
	bool is_of_all_tasks;
	bool excludes_user;
	bool excludes_kernel;
	bool is_raw;
	uint64_t switch_every;
	uint64_t migrate_every;
	uint64_t idle_every;
	uint64_t late_allowed;
	bool is_throttled;
	bool has_child;
	bool has_gates;
};

static struct options options = {
	.periods = { 1 }, .period_count = 1, .events = 1,
};

static struct guest_sampler samplers[MAX_EVENTS * MAX_CPUS];
static unsigned int sampler_count;
static unsigned int problems;
static void fail_usage(void)
{
	fputs(usage, stderr);
	exit(EXIT_FAILURE);
}

static void parse_periods(char *text)
{
	char *period;

	options.period_count = 0;
	for (period = strtok(text, ","); period; period = strtok(NULL, ",")) {
		if (options.period_count == MAX_PERIODS)
			errx(EXIT_FAILURE, "more than %d periods", MAX_PERIODS);
		options.periods[options.period_count++] =
			parse_number(period, 1, MAX_NUMBER, "-p");
	}
	if (!options.period_count)
		fail_usage();
}

static void parse_excluded(const char *mode)
{
	options.excludes_user |= !strcmp(mode, "user");
	options.excludes_kernel |= !strcmp(mode, "kernel");
	if (!options.excludes_user && !options.excludes_kernel)
		fail_usage();
}

static void parse_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "u:k:p:F:e:m:cax:rs:M:i:l:tfg")) != -1) {
		switch (option) {
		case 'u':
			options.user = parse_number(optarg, 0, MAX_NUMBER, "-u");
			break;
		case 'k':
			options.kernel = parse_number(optarg, 0, MAX_NUMBER,
						      "-k");
			break;
		case 'p':
			parse_periods(optarg);
			break;
		case 'F':
			options.frequency = parse_number(optarg, 1, MAX_NUMBER,
							 "-F");
			break;
		case 'e':
			options.events = parse_number(optarg, 1, MAX_EVENTS,
						      "-e");
			break;
		case 'm':
			options.members = parse_number(optarg, 0, MAX_MEMBERS,
						       "-m");
			break;
		case 'c':
			options.is_per_cpu = true;
			break;
		case 'a':
			options.is_per_cpu = true;
			options.is_of_all_tasks = true;
			break;
		case 'x':
			parse_excluded(optarg);
			break;
		case 'r':
			options.is_raw = true;
			break;
		case 's':
			options.switch_every = parse_number(optarg, 1,
							    MAX_NUMBER, "-s");
			break;
		case 'M':
			options.migrate_every = parse_number(optarg, 1,
							     MAX_NUMBER, "-M");
			break;
		case 'i':
			options.idle_every = parse_number(optarg, 1,
							  MAX_NUMBER, "-i");
			break;
		case 'l':
			options.late_allowed = parse_number(optarg, 0,
							    MAX_NUMBER, "-l");
			break;
		case 't':
			options.is_throttled = true;
			break;
		case 'f':
			options.has_child = true;
			break;
		case 'g':
			options.has_gates = true;
			break;
		default:
			fail_usage();
		}
	}
	if (optind != argc || !(options.user + options.kernel) ||
	    (options.has_child && options.has_gates))
		fail_usage();
}

/* Of all writes, those that the events count. */
static uint64_t writes_to_count(void)
{
	return (options.excludes_user ? 0 : options.user) +
	       (options.excludes_kernel ? 0 : options.kernel);
}

/* Of the task @pid; 0 is this one. */
static void open_samplers(pid_t pid)
{
	struct sampler_request request = {
		.frequency = options.frequency,
		.is_raw = options.is_raw,
		.excludes_user = options.excludes_user,
		.excludes_kernel = options.excludes_kernel,
		.members = options.members,
		.has_user_writes = options.user,
		.has_kernel_writes = options.kernel,
	};
	int cpu, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int i;

	if (cpus > MAX_CPUS)
		errx(EXIT_FAILURE, "more than %d CPUs", MAX_CPUS);

	for (i = 0; i < options.events; i++) {
		if (!options.frequency)
			request.period =
				options.periods[i % options.period_count];
		request.samples = writes_to_count() /
				  (request.period ? request.period : 1);
		request.pid = options.is_of_all_tasks ? -1 : pid;
		if (!options.is_per_cpu) {
			request.cpu = -1;
			samplers[sampler_count++] =
				open_guest_sampler(&request);
			continue;
		}
		for (cpu = 0; cpu < cpus; cpu++) {
			request.cpu = cpu;
			samplers[sampler_count++] =
				open_guest_sampler(&request);
		}
	}
}

struct work {
	uint64_t done;
	uint64_t switches;
	uint64_t migrations;
	struct partner partner;
	int device;
};

/* From @done on, to the next multiple of @every. */
static uint64_t distance(uint64_t done, uint64_t every, uint64_t limit)
{
	uint64_t left;

	if (!every)
		return limit;
	left = every - done % every;
	return left < limit ? left : limit;
}

static void sleep_for_a_moment(void)
{
	const struct timespec moment = { .tv_nsec = 20 * 1000 * 1000 };

	if (nanosleep(&moment, NULL))
		err(EXIT_FAILURE, "nanosleep");
}

static void block_end_signal(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &signals, NULL))
		err(EXIT_FAILURE, "SIGTERM cannot be blocked");
}

static bool must_end(void)
{
	sigset_t signals;

	return options.is_throttled && !sigpending(&signals) &&
	       sigismember(&signals, SIGTERM) == 1;
}

static void make_writes(struct work *work, uint64_t count, bool in_kernel)
{
	uint64_t part;

	for (; count && !must_end(); count -= part) {
		part = distance(work->done, WRITES_BETWEEN_SIGNALS, count);
		part = distance(work->done, options.switch_every, part);
		part = distance(work->done, options.migrate_every, part);
		part = distance(work->done, options.idle_every, part);
		if (in_kernel)
			write_exact_port_in_kernel(work->device, part);
		else
			write_exact_port(part);
		work->done += part;

		if (options.migrate_every &&
		    work->done % options.migrate_every == 0)
			work->migrations += migrate();
		if (options.switch_every &&
		    work->done % options.switch_every == 0)
			be_scheduled_out(&work->partner);
		if (options.idle_every &&
		    work->done % options.idle_every == 0)
			sleep_for_a_moment();
	}
}

static void enable_samplers(void)
{
	unsigned int i;

	for (i = 0; i < sampler_count; i++)
		perf_enable(samplers[i].fd, true);
}

static void prepare_work(struct work *work)
{
	if (options.kernel)
		work->device = open_guest_device();
	if (options.switch_every)
		work->partner = start_partner();
}

static void do_work(struct work *work)
{
	uint64_t switches = switches_so_far();

	make_writes(work, options.user, false);
	make_writes(work, options.kernel, true);
	work->switches = switches_so_far() - switches;
}

static struct work work_while_sampled(void)
{
	struct work work = { .device = -1 };
	unsigned int i;

	open_samplers(0);
	prepare_work(&work);
	if (options.has_gates)
		use_fifo_scheduling();

	enable_samplers();
	if (options.has_gates)
		gate("work");
	do_work(&work);
	if (options.has_gates)
		gate("end");
	for (i = 0; i < sampler_count; i++)
		perf_disable(samplers[i].fd, true);

	if (options.switch_every)
		end_partner(&work.partner);
	return work;
}

/* The partner ends with the child. */
static void be_child(struct work *work, int go_fd)
{
	char byte;

	prepare_work(work);
	if (read(go_fd, &byte, 1) != 1)
		err(EXIT_FAILURE, "read from a pipe");
	do_work(work);
	_exit(EXIT_SUCCESS);
}

static struct work let_child_work(void)
{
	struct work *work, result;
	int go[2], status;
	pid_t child;

	work = mmap(NULL, sizeof(*work), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (work == MAP_FAILED || pipe(go))
		err(EXIT_FAILURE, "nothing to talk to a child by");
	child = fork();
	if (child < 0)
		err(EXIT_FAILURE, "fork");
	if (!child)
		be_child(work, go[0]);

	open_samplers(child);
	enable_samplers();
	if (write(go[1], "", 1) != 1)
		err(EXIT_FAILURE, "write to a pipe");
	if (waitpid(child, &status, 0) != child || status)
		errx(EXIT_FAILURE, "the child has failed");

	result = *work;
	munmap(work, sizeof(*work));
	return result;
}

static void expect(bool condition, const char *problem)
{
	if (condition)
		return;
	warnx("%s", problem);
	problems++;
}

static void check_sampler(const struct guest_sampler *sampler)
{
	const struct sampler_findings *findings = &sampler->findings;
	uint64_t period = sampler->request.period;
	uint64_t rest = findings->count - findings->sum_of_periods;

	expect(findings->sum_of_periods <= findings->count,
	       "the samples hold more than there was");
	if (period)
		expect(rest < period, "overflows have no sample");
	expect(findings->other_count == findings->count,
	       "events of a group count differently");
	expect(!findings->lost, "the buffer had no room for all samples");
	expect(!findings->wrong_period, "periods are no multiple of what was asked");
	if (options.excludes_kernel)
		expect(!findings->from_kernel,
		       "samples tell of the kernel, which is excluded");
	if (options.has_child)
		expect(findings->wrong_task == findings->samples,
		       "samples are of this task");
	else if (!options.is_of_all_tasks || !options.late_allowed)
		expect(!findings->wrong_task, "samples are of another task");
	expect(!findings->wrong_cpu, "samples are of another CPU");
	if (options.is_throttled)
		return;
	expect(!findings->throttled, "there was throttling");
	/* A task's event that is for one CPU is off while the task is elsewhere. */
	if (!options.is_per_cpu || options.is_of_all_tasks)
		expect(findings->running == findings->enabled,
		       "an event has not run all the time");
}

static void add_findings(struct sampler_findings *sum,
			 const struct sampler_findings *findings)
{
	sum->samples += findings->samples;
	sum->sum_of_periods += findings->sum_of_periods;
	sum->lost += findings->lost;
	sum->throttled += findings->throttled;
	sum->coalesced += findings->coalesced;
	sum->wrong_address += findings->wrong_address;
	sum->wrong_mode += findings->wrong_mode;
	sum->from_kernel += findings->from_kernel;
	sum->wrong_count += findings->wrong_count;
	sum->late += findings->late;
	sum->wrong_period += findings->wrong_period;
	sum->wrong_task += findings->wrong_task;
	sum->wrong_cpu += findings->wrong_cpu;
	sum->count += findings->count;
	sum->enabled += findings->enabled;
	sum->running += findings->running;
}

static void print(const char *name, uint64_t value)
{
	printf("%s=%llu ", name, (unsigned long long)value);
}

static void print_findings(const struct sampler_findings *sum,
			   const struct work *work)
{
	print("writes", work->done);
	print("count", sum->count);
	print("samples", sum->samples);
	print("sum_of_periods", sum->sum_of_periods);
	print("coalesced", sum->coalesced);
	print("wrong_address", sum->wrong_address);
	print("wrong_mode", sum->wrong_mode);
	print("from_kernel", sum->from_kernel);
	print("wrong_count", sum->wrong_count);
	print("late", sum->late);
	print("wrong_period", sum->wrong_period);
	print("wrong_task", sum->wrong_task);
	print("wrong_cpu", sum->wrong_cpu);
	print("lost", sum->lost);
	print("throttled", sum->throttled);
	print("enabled", sum->enabled);
	print("running", sum->running);
	print("switches", work->switches);
	print("migrations", work->migrations);
	putchar('\n');
}

/* An event that is per CPU counts its part, and all of them together the whole. */
static void check_sum(const struct sampler_findings *sum,
		      const struct work *work)
{
	uint64_t expected = options.events * writes_to_count();

	expect(sum->late <= options.late_allowed, "too many samples are late");
	if (options.switch_every)
		expect(work->switches >= work->done / options.switch_every,
		       "too few switches");
	if (options.migrate_every)
		expect(work->migrations >=
		       work->done / options.migrate_every - 1,
		       "too few migrations");
	if (options.is_throttled) {
		expect(sum->count < expected, "nothing was missed");
		expect(sum->running < sum->enabled,
		       "the time does not say that something was missed");
	} else {
		expect(sum->count == expected, "the count is wrong");
	}
}

int main(int argc, char **argv)
{
	struct sampler_findings sum = {};
	struct work work;
	unsigned int i;

	parse_options(argc, argv);
	allow_exact_port();
	if (options.is_throttled)
		block_end_signal();
	work = options.has_child ? let_child_work() : work_while_sampled();

	for (i = 0; i < sampler_count; i++) {
		take_samples(&samplers[i]);
		check_sampler(&samplers[i]);
		add_findings(&sum, &samplers[i].findings);
	}
	check_sum(&sum, &work);
	print_findings(&sum, &work);
	for (i = 0; i < sampler_count; i++)
		close_guest_sampler(&samplers[i]);
	return problems ? EXIT_FAILURE : EXIT_SUCCESS;
}
