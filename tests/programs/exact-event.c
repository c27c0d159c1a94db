// SPDX-License-Identifier: GPL-2.0
/*
 * Makes an exactly known number of port writes, which the test PMU counts.
 */
#include <err.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "scheduling.h"

#define MAX_WORKERS		64
#define MAX_NUMBER		1000000000UL
#define MIGRATIONS_WANTED	200

static const char usage[] =
"usage: exact-event [-u WRITES] [-k WRITES] [-t THREADS | -f CHILDREN]\n"
"                   [-s SWITCHES] [-m]\n"
"  -u WRITES    make exactly WRITES port writes in user mode\n"
"  -k WRITES    make exactly WRITES port writes in kernel mode\n"
"  -t THREADS   share them out among THREADS threads (1 to 64)\n"
"  -f CHILDREN  share them out among CHILDREN child processes (1 to 64)\n"
"  -s SWITCHES  be scheduled out at least SWITCHES times in between\n"
"  -m           migrate between CPU 0 and 1, at least 200 times\n"
"The totals are exact: where WRITES is no multiple of the number of workers,\n"
"the first ones make one more.  SWITCHES and migrations are of each worker.\n"
"Prints \"user=N kernel=N switches=N migrations=N\", all workers together.\n"
"Needs the module kvm_pvperf_test_guest.  With -s each worker has a\n"
"partner process, which makes no port writes.\n";

struct options {
	uint64_t user;
	uint64_t kernel;
	uint64_t switches;
	uint64_t migrations;
	unsigned int threads;
	unsigned int children;
};

static struct options options;

struct worker {
	uint64_t user;
	uint64_t kernel;
	uint64_t switches;
	uint64_t migrations;
	struct partner partner;
};

/* Shared with child processes. */
static struct worker *workers;

static void parse_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "u:k:t:f:s:m")) != -1) {
		switch (option) {
		case 'u':
			options.user = parse_number(optarg, 0, MAX_NUMBER,
						    "-u");
			break;
		case 'k':
			options.kernel = parse_number(optarg, 0, MAX_NUMBER,
						      "-k");
			break;
		case 't':
			options.threads = parse_number(optarg, 1, MAX_WORKERS,
						       "-t");
			break;
		case 'f':
			options.children = parse_number(optarg, 1, MAX_WORKERS,
							"-f");
			break;
		case 's':
			options.switches = parse_number(optarg, 1, MAX_NUMBER,
							"-s");
			break;
		case 'm':
			options.migrations = MIGRATIONS_WANTED;
			break;
		default:
			fputs(usage, stderr);
			exit(EXIT_FAILURE);
		}
	}
	if (optind != argc || (options.threads && options.children) ||
	    !(options.user + options.kernel)) {
		fputs(usage, stderr);
		exit(EXIT_FAILURE);
	}
}

static uint64_t most(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

/* The part of @total that falls into step @step of @steps. */
static uint64_t part(uint64_t total, uint64_t step, uint64_t steps)
{
	return total * (step + 1) / steps - total * step / steps;
}

static void work(struct worker *worker)
{
	uint64_t steps = most(1, most(options.switches, options.migrations));
	uint64_t before = switches_so_far();
	uint64_t step;
	int fd = -1;

	if (worker->kernel)
		fd = open_guest_device();
	for (step = 0; step < steps; step++) {
		write_exact_port(part(worker->user, step, steps));
		write_exact_port_in_kernel(fd, part(worker->kernel, step,
						    steps));
		if (part(options.migrations, step, steps))
			worker->migrations += migrate();
		if (part(options.switches, step, steps))
			be_scheduled_out(&worker->partner);
	}
	if (fd >= 0)
		close(fd);
	worker->switches = switches_so_far() - before;
}

static void *work_in_thread(void *argument)
{
	work(argument);
	return NULL;
}

static void run_threads(unsigned int count)
{
	pthread_t threads[MAX_WORKERS];
	unsigned int i;
	int error;

	for (i = 0; i < count; i++) {
		error = pthread_create(&threads[i], NULL, work_in_thread,
				       &workers[i]);
		if (error)
			errx(EXIT_FAILURE, "pthread_create: %s",
			     strerror(error));
	}
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void run_children(unsigned int count)
{
	pid_t children[MAX_WORKERS];
	unsigned int i;
	int status;

	for (i = 0; i < count; i++) {
		children[i] = fork();
		if (children[i] < 0)
			err(EXIT_FAILURE, "fork");
		if (!children[i]) {
			work(&workers[i]);
			_exit(EXIT_SUCCESS);
		}
	}
	for (i = 0; i < count; i++)
		if (waitpid(children[i], &status, 0) != children[i] || status)
			errx(EXIT_FAILURE, "a child failed");
}

int main(int argc, char **argv)
{
	struct worker total = {};
	unsigned int count, i;
	bool enough = true;

	parse_options(argc, argv);
	count = most(1, most(options.threads, options.children));
	workers = mmap(NULL, count * sizeof(*workers), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (workers == MAP_FAILED)
		err(EXIT_FAILURE, "mmap");
	allow_exact_port();

	for (i = 0; i < count; i++) {
		workers[i].user = options.user / count +
				  (i < options.user % count);
		workers[i].kernel = options.kernel / count +
				    (i < options.kernel % count);
		if (options.switches)
			workers[i].partner = start_partner();
	}

	if (options.threads)
		run_threads(count);
	else if (options.children)
		run_children(count);
	else
		work(&workers[0]);

	for (i = 0; i < count; i++) {
		if (options.switches)
			end_partner(&workers[i].partner);
		total.user += workers[i].user;
		total.kernel += workers[i].kernel;
		total.switches += workers[i].switches;
		total.migrations += workers[i].migrations;
		enough = enough && workers[i].switches >= options.switches &&
			 workers[i].migrations >= options.migrations;
	}
	printf("user=%llu kernel=%llu switches=%llu migrations=%llu\n",
	       (unsigned long long)total.user,
	       (unsigned long long)total.kernel,
	       (unsigned long long)total.switches,
	       (unsigned long long)total.migrations);
	if (!enough)
		errx(EXIT_FAILURE, "too few switches or migrations");
	return EXIT_SUCCESS;
}
