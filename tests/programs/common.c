// SPDX-License-Identifier: GPL-2.0
/*
 * What several test programs need: see common.h.
 */
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common.h"

uint64_t parse_number(const char *text, uint64_t minimum, uint64_t maximum,
		      const char *what)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno ||
	    number < minimum || number > maximum)
		errx(EXIT_FAILURE, "%s: '%s' is not a number from %llu to %llu",
		     what, text, (unsigned long long)minimum,
		     (unsigned long long)maximum);
	return number;
}

void allow_exact_port(void)
{
	static const char command[] = "iopl";
	const ssize_t size = sizeof(command) - 1;
	int fd = open(GUEST_DEVICE, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, command, size) != size)
		err(EXIT_FAILURE, GUEST_DEVICE);
	close(fd);
}

void write_exact_port(uint64_t count)
{
	while (count--)
		exact_write();
}

int open_guest_device(void)
{
	int fd = open(GUEST_DEVICE, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		err(EXIT_FAILURE, GUEST_DEVICE);
	return fd;
}

static void command_guest_device(int fd, const char *command, uint64_t number)
{
	char text[32];
	int size = snprintf(text, sizeof(text), "%s%llu", command,
			    (unsigned long long)number);

	if (write(fd, text, size) != size)
		err(EXIT_FAILURE, GUEST_DEVICE);
}

void write_exact_port_in_kernel(int fd, uint64_t count)
{
	if (count)
		command_guest_device(fd, "", count);
}

void spin_in_kernel(int fd, uint64_t units)
{
	if (units)
		command_guest_device(fd, "spin ", units);
}

int usable_cpu(int n)
{
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		err(EXIT_FAILURE, "cannot find out which CPUs are usable");
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && n-- == 0)
			return cpu;
	errx(EXIT_FAILURE, "too few usable CPUs");
}

void pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(EXIT_FAILURE, "cannot run on CPU %d", cpu);
}

/* Unbuffered, since several processes may share the standard input. */
void gate(const char *phase)
{
	ssize_t size;
	char byte;

	printf("ready %s\n", phase);
	fflush(stdout);
	do {
		size = read(STDIN_FILENO, &byte, 1);
		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			errx(EXIT_FAILURE, "no line on standard input");
	} while (size < 0 || byte != '\n');
}

void use_fifo_scheduling(void)
{
	const struct sched_param parameters = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &parameters))
		err(EXIT_FAILURE, "no real-time scheduling");
}

uint64_t switches_so_far(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		err(EXIT_FAILURE, "getrusage");
	return usage.ru_nvcsw + usage.ru_nivcsw;
}
