// SPDX-License-Identifier: GPL-2.0
/*
 * Takes a CPU offline and online while it is sampled, time and again.
 */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "guest-sampler.h"
#include "perf.h"

#define MAX_CYCLES	1000000UL
#define ONLINE		"/sys/devices/system/cpu/cpu1/online"
#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

/* The last sample comes some writes before the CPU goes. */
#define PERIOD		3
#define WRITES		10

static const char usage[] =
"usage: hotplug-sample CYCLES\n"
"In each of CYCLES cycles samples port writes on CPU 1, by an event of that CPU and\n"
"by one of this task, leaves the first running while the CPU goes offline, and the\n"
"second all the time, and brings the CPU back.  Prints\n"
"\"cycles=N samples=N of_task=N late=N milliseconds=N\", and fails if a write is\n"
"not accounted for.\n";

static void set_online(bool online)
{
	int fd = open(ONLINE, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, online ? "1" : "0", 1) != 1)
		err(EXIT_FAILURE, ONLINE);
	close(fd);
}

static void check(bool condition, uint64_t cycle, const char *problem)
{
	if (!condition)
		errx(EXIT_FAILURE, "cycle %llu: %s", (unsigned long long)cycle,
		     problem);
}

static bool is_all_there(const struct sampler_findings *findings,
			 uint64_t writes)
{
	return findings->count == writes &&
	       findings->sum_of_periods == writes - writes % PERIOD &&
	       !findings->lost && !findings->throttled &&
	       !findings->wrong_period && !findings->wrong_task &&
	       !findings->wrong_cpu;
}

static uint64_t milliseconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (time.tv_sec * NSEC_PER_SEC + time.tv_nsec) / NSEC_PER_MSEC;
}

int main(int argc, char **argv)
{
	struct sampler_request request = {
		.period = PERIOD, .pid = -1, .cpu = 1,
		.has_user_writes = true, .samples = WRITES,
	};
	struct guest_sampler of_cpu, of_task;
	uint64_t cycles, cycle, begin, samples = 0, late = 0;

	if (argc != 2) {
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	cycles = parse_number(argv[1], 1, MAX_CYCLES, "CYCLES");
	allow_exact_port();

	begin = milliseconds();
	request.pid = 0;
	request.cpu = -1;
	request.samples = cycles * WRITES;
	of_task = open_guest_sampler(&request);
	perf_enable(of_task.fd, true);

	request.pid = -1;
	request.cpu = 1;
	request.samples = WRITES;
	for (cycle = 0; cycle < cycles; cycle++) {
		pin_to_cpu(1);
		of_cpu = open_guest_sampler(&request);
		perf_enable(of_cpu.fd, true);
		write_exact_port(WRITES);
		pin_to_cpu(0);

		set_online(false);
		take_samples(&of_cpu);
		check(is_all_there(&of_cpu.findings, WRITES), cycle,
		      "the CPU's event misses something");
		samples += of_cpu.findings.samples;
		late += of_cpu.findings.late;
		close_guest_sampler(&of_cpu);
		set_online(true);
	}

	perf_disable(of_task.fd, true);
	take_samples(&of_task);
	check(is_all_there(&of_task.findings, cycles * WRITES), cycles,
	      "the task's event misses something");
	late += of_task.findings.late;
	printf("cycles=%llu samples=%llu of_task=%llu late=%llu milliseconds=%llu\n",
	       (unsigned long long)cycles, (unsigned long long)samples,
	       (unsigned long long)of_task.findings.samples,
	       (unsigned long long)late,
	       (unsigned long long)(milliseconds() - begin));
	return EXIT_SUCCESS;
}
