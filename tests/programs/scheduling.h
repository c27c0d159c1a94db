/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Making sure that the calling thread is scheduled out, and moves between CPUs.
 */
#ifndef KVM_PVPERF_TESTS_SCHEDULING_H
#define KVM_PVPERF_TESTS_SCHEDULING_H

#include <stdbool.h>
#include <sys/types.h>

/* A process that answers when it is asked, and does nothing else. */
struct partner {
	int request_fd;
	int reply_fd;
	pid_t pid;
};

/* Ends the program on failure, as all of these do. */
struct partner start_partner(void);
void end_partner(const struct partner *partner);

/* Waits for the partner until the calling thread has been switched away from. */
void be_scheduled_out(const struct partner *partner);

/* From CPU 0 to CPU 1, or from elsewhere to CPU 0: has the CPU changed? */
bool migrate(void);

#endif
