// SPDX-License-Identifier: GPL-2.0
/*
 * Perf events by system call: see perf.h.
 */
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf.h"

struct perf_event_attr perf_counting_attr(uint32_t type, uint64_t config)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = type,
		.config = config,
		.disabled = 1,
		.read_format = PERF_FORMAT_GROUP |
			       PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
}

int perf_open(const struct perf_event_attr *attr, int pid, int cpu,
	      int group_fd)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
		       PERF_FLAG_FD_CLOEXEC);
}

int perf_open_checked(const struct perf_event_attr *attr, int pid, int cpu,
		      int group_fd)
{
	int fd = perf_open(attr, pid, cpu, group_fd);

	if (fd < 0)
		err(EXIT_FAILURE, "cannot open event %u:%#llx", attr->type,
		    (unsigned long long)attr->config);
	return fd;
}

void perf_enable(int fd, bool group)
{
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, group ? PERF_IOC_FLAG_GROUP : 0))
		err(EXIT_FAILURE, "cannot enable an event");
}

void perf_disable(int fd, bool group)
{
	if (ioctl(fd, PERF_EVENT_IOC_DISABLE, group ? PERF_IOC_FLAG_GROUP : 0))
		err(EXIT_FAILURE, "cannot disable an event");
}

void perf_reset(int fd)
{
	if (ioctl(fd, PERF_EVENT_IOC_RESET, 0))
		err(EXIT_FAILURE, "cannot reset an event");
}

struct perf_counts perf_read(int fd)
{
	struct perf_counts counts = {};
	ssize_t size = read(fd, &counts, sizeof(counts));

	if (size < 0)
		err(EXIT_FAILURE, "cannot read an event");
	if (!size)
		errx(EXIT_FAILURE, "an event is in error state");
	return counts;
}

uint64_t perf_value(int fd)
{
	return perf_read(fd).values[0];
}

struct perf_event_attr perf_parse_event(const char *text)
{
	unsigned long long type, config;
	char *end;

	errno = 0;
	type = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text) || *end != ':' || errno ||
	    type > UINT32_MAX)
		errx(EXIT_FAILURE, "'%s' is not TYPE:CONFIG", text);

	text = end + 1;
	config = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text) || *end || errno)
		errx(EXIT_FAILURE, "'%s' is not a config", text);
	return perf_counting_attr(type, config);
}
