// SPDX-License-Identifier: GPL-2.0
/*
 * Reads a group of events around port writes of its own.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "perf.h"

#define MAX_EVENTS	64
#define MAX_NUMBER	1000000000UL

static const char usage[] =
"usage: group-read [-k EVENTS] [-e TYPE:CONFIG]... [-n WRITES] [-r READS]\n"
"                  [-C CPU] [-i] [-g]\n"
"  -k EVENTS       a group of EVENTS (1 to 64, default 1); those that -e does\n"
"                  not name are EXACT events (0:6)\n"
"  -e TYPE:CONFIG  one event of the group\n"
"  -n WRITES       user-mode port writes while it counts (default 100000)\n"
"  -r READS        reads in a row after the writes (default 1)\n"
"  -C CPU          count on CPU and run there, instead of counting the task\n"
"  -i              inherit: a child makes half of the writes\n"
"  -g              before each phase (open, write, read, close, exit) print\n"
"                  \"ready PHASE\" and wait for a line on standard input; run\n"
"                  with real-time priority\n"
"Prints \"event=INDEX value=COUNT enabled=NS running=NS\" of the last read and\n"
"\"switches=N\", how often it was switched away from between its reads.\n";

struct options {
	struct perf_event_attr attrs[MAX_EVENTS];
	int named;
	int events;
	uint64_t writes;
	uint64_t reads;
	int cpu;
	bool inherit;
	bool gates;
};

static struct options parse_options(int argc, char **argv)
{
	struct options options = {
		.events = 1, .writes = 100000, .reads = 1, .cpu = -1,
	};
	int option;

	while ((option = getopt(argc, argv, "k:e:n:r:C:ig")) != -1) {
		switch (option) {
		case 'k':
			options.events = parse_number(optarg, 1, MAX_EVENTS,
						      "-k");
			break;
		case 'e':
			if (options.named == MAX_EVENTS)
				errx(EXIT_FAILURE, "more than %d events",
				     MAX_EVENTS);
			options.attrs[options.named++] =
				perf_parse_event(optarg);
			break;
		case 'n':
			options.writes = parse_number(optarg, 0, MAX_NUMBER,
						      "-n");
			break;
		case 'r':
			options.reads = parse_number(optarg, 1, MAX_NUMBER,
						     "-r");
			break;
		case 'C':
			options.cpu = parse_number(optarg, 0, 1023, "-C");
			break;
		case 'i':
			options.inherit = true;
			break;
		case 'g':
			options.gates = true;
			break;
		default:
			fputs(usage, stderr);
			exit(EXIT_FAILURE);
		}
	}
	if (optind != argc || (options.inherit && options.cpu >= 0)) {
		fputs(usage, stderr);
		exit(EXIT_FAILURE);
	}
	if (options.events < options.named)
		options.events = options.named;
	while (options.named < options.events)
		options.attrs[options.named++] =
			perf_counting_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_BUS_CYCLES);
	return options;
}

static void pause_before(const struct options *options, const char *phase)
{
	if (options->gates)
		gate(phase);
}

static void write_in_child(uint64_t count)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		err(EXIT_FAILURE, "fork");
	if (!pid) {
		write_exact_port(count);
		_exit(EXIT_SUCCESS);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		errx(EXIT_FAILURE, "the child failed");
}

int main(int argc, char **argv)
{
	struct options options = parse_options(argc, argv);
	struct perf_counts counts;
	uint64_t in_child, done, switches;
	int fds[MAX_EVENTS];
	int i;

	allow_exact_port();
	if (options.cpu >= 0)
		pin_to_cpu(options.cpu);
	if (options.gates)
		use_fifo_scheduling();

	pause_before(&options, "open");
	for (i = 0; i < options.events; i++) {
		options.attrs[i].disabled = i == 0;
		options.attrs[i].inherit = options.inherit;
		fds[i] = perf_open_checked(&options.attrs[i],
					   options.cpu >= 0 ? -1 : 0,
					   options.cpu, i ? fds[0] : -1);
	}
	perf_enable(fds[0], true);

	pause_before(&options, "write");
	in_child = options.inherit ? options.writes / 2 : 0;
	write_exact_port(options.writes - in_child);
	if (options.inherit)
		write_in_child(in_child);

	pause_before(&options, "read");
	switches = switches_so_far();
	for (done = 0; done < options.reads; done++)
		counts = perf_read(fds[0]);
	switches = switches_so_far() - switches;

	pause_before(&options, "close");
	for (i = options.events - 1; i >= 0; i--)
		close(fds[i]);

	for (i = 0; i < options.events; i++)
		printf("event=%d value=%llu enabled=%llu running=%llu\n", i,
		       (unsigned long long)counts.values[i],
		       (unsigned long long)counts.enabled,
		       (unsigned long long)counts.running);
	printf("switches=%llu\n", (unsigned long long)switches);
	pause_before(&options, "exit");
	return EXIT_SUCCESS;
}
