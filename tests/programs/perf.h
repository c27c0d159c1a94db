/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Perf events by system call.
 */
#ifndef KVM_PVPERF_TESTS_PERF_H
#define KVM_PVPERF_TESTS_PERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* What a read of one event or a group of events returns. */
struct perf_counts {
	uint64_t number;
	uint64_t enabled;
	uint64_t running;
	uint64_t values[64];
};

/*
 * An attribute for counting, disabled, with group format and times.  The
 * filters stay off.
 */
struct perf_event_attr perf_counting_attr(uint32_t type, uint64_t config);

/* perf_event_open(); the file descriptor or -1. */
int perf_open(const struct perf_event_attr *attr, int pid, int cpu,
	      int group_fd);

/* The same; ends the program on failure. */
int perf_open_checked(const struct perf_event_attr *attr, int pid, int cpu,
		      int group_fd);

/* PERF_EVENT_IOC_ENABLE or DISABLE for one event or the whole of its group. */
void perf_enable(int fd, bool group);
void perf_disable(int fd, bool group);

/* Sets the count of one event to zero. */
void perf_reset(int fd);

/* Reads an event opened with group format. */
struct perf_counts perf_read(int fd);

/* Reads such an event that is no group: its value alone. */
uint64_t perf_value(int fd);

/* "TYPE:CONFIG", both in any base of C; ends the program if it is not that. */
struct perf_event_attr perf_parse_event(const char *text);

#endif
