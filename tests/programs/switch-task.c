// SPDX-License-Identifier: GPL-2.0
/*
 * Switches between a task with events and a task without, a known number of
 * times.
 */
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "perf.h"

#define MAX_EVENTS	64
#define MAX_TRIPS	100000000UL

static const char usage[] =
"usage: switch-task [-k EVENTS] [-e TYPE:CONFIG] [-C CPU] [-g] TRIPS\n"
"  -k EVENTS       the task has EVENTS events (0 to 64, default 1), no group\n"
"  -e TYPE:CONFIG  what they are (default 0:6)\n"
"  -C CPU          where both tasks run (default 0)\n"
"  -g              before each phase (trips, exit) print \"ready PHASE\" and\n"
"                  wait for a line on standard input\n"
"A round trip is one switch to the partner, which has no event, and one back.\n"
"Prints \"trips=TRIPS switches=N\", N being how often the task was in truth\n"
"switched away from in the trips, and fails if that is less than TRIPS.\n";

struct channel {
	int read_end;
	int write_end;
};

static struct channel open_channel(void)
{
	int fds[2];

	if (pipe(fds))
		err(EXIT_FAILURE, "pipe");
	return (struct channel){ .read_end = fds[0], .write_end = fds[1] };
}

static void send_byte(int fd)
{
	if (write(fd, "", 1) != 1)
		err(EXIT_FAILURE, "write to a pipe");
}

static bool receive_byte(int fd)
{
	char byte;
	ssize_t size = read(fd, &byte, 1);

	if (size < 0)
		err(EXIT_FAILURE, "read from a pipe");
	return size == 1;
}

static void be_partner(struct channel to, struct channel from)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		err(EXIT_FAILURE, "prctl");
	close(to.write_end);
	close(from.read_end);
	while (receive_byte(to.read_end))
		send_byte(from.write_end);
	_exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr =
		perf_counting_attr(PERF_TYPE_HARDWARE,
				   PERF_COUNT_HW_BUS_CYCLES);
	uint64_t trips, trip, switches;
	struct channel to, from;
	bool gates = false;
	int events = 1;
	int option, status, i;
	int cpu = 0;
	pid_t pid;

	while ((option = getopt(argc, argv, "k:e:C:g")) != -1) {
		switch (option) {
		case 'k':
			events = parse_number(optarg, 0, MAX_EVENTS, "-k");
			break;
		case 'e':
			attr = perf_parse_event(optarg);
			break;
		case 'C':
			cpu = parse_number(optarg, 0, 1023, "-C");
			break;
		case 'g':
			gates = true;
			break;
		default:
			fputs(usage, stderr);
			return EXIT_FAILURE;
		}
	}
	if (optind != argc - 1) {
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	trips = parse_number(argv[optind], 1, MAX_TRIPS, "TRIPS");

	pin_to_cpu(cpu);
	/* Neither preempts the other when it wakes it: a trip is two switches. */
	use_fifo_scheduling();
	to = open_channel();
	from = open_channel();
	pid = fork();
	if (pid < 0)
		err(EXIT_FAILURE, "fork");
	if (!pid)
		be_partner(to, from);
	close(to.read_end);
	close(from.write_end);

	attr.disabled = 0;
	for (i = 0; i < events; i++)
		perf_open_checked(&attr, 0, -1, -1);

	if (gates)
		gate("trips");
	switches = switches_so_far();
	for (trip = 0; trip < trips; trip++) {
		send_byte(to.write_end);
		if (!receive_byte(from.read_end))
			errx(EXIT_FAILURE, "the partner is gone");
	}
	switches = switches_so_far() - switches;
	printf("trips=%llu switches=%llu\n", (unsigned long long)trips,
	       (unsigned long long)switches);
	if (gates)
		gate("exit");

	close(to.write_end);
	if (waitpid(pid, &status, 0) != pid || status)
		errx(EXIT_FAILURE, "the partner failed");
	return switches >= trips ? EXIT_SUCCESS : EXIT_FAILURE;
}
