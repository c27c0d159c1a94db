// SPDX-License-Identifier: GPL-2.0
/*
 * Being scheduled out and moving between CPUs: see scheduling.h.
 */
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "scheduling.h"

#define BLOCKING_TRIES	1000

static void be_partner(int request_fd, int reply_fd)
{
	char byte;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		err(EXIT_FAILURE, "prctl");
	while (read(request_fd, &byte, 1) == 1)
		if (write(reply_fd, &byte, 1) != 1)
			err(EXIT_FAILURE, "write to a pipe");
	_exit(EXIT_SUCCESS);
}

/*
 * Partners are ended by a signal and not by end of file, since later partners
 * and children hold copies of the pipes' ends.
 */
struct partner start_partner(void)
{
	struct partner partner;
	int request[2], reply[2];

	if (pipe(request) || pipe(reply))
		err(EXIT_FAILURE, "pipe");
	partner.pid = fork();
	if (partner.pid < 0)
		err(EXIT_FAILURE, "fork");
	if (!partner.pid)
		be_partner(request[0], reply[1]);
	partner.request_fd = request[1];
	partner.reply_fd = reply[0];
	close(request[0]);
	close(reply[1]);
	return partner;
}

void end_partner(const struct partner *partner)
{
	if (kill(partner->pid, SIGKILL) ||
	    waitpid(partner->pid, NULL, 0) != partner->pid)
		err(EXIT_FAILURE, "cannot end a partner");
}

/* A partner on another CPU may answer before the read blocks: try again. */
void be_scheduled_out(const struct partner *partner)
{
	uint64_t before = switches_so_far();
	unsigned int tries = 0;
	char byte = 0;

	do {
		if (tries++ == BLOCKING_TRIES)
			errx(EXIT_FAILURE, "cannot be scheduled out");
		if (write(partner->request_fd, &byte, 1) != 1 ||
		    read(partner->reply_fd, &byte, 1) != 1)
			err(EXIT_FAILURE, "exchange with the partner");
	} while (switches_so_far() == before);
}

bool migrate(void)
{
	int before = sched_getcpu();

	pin_to_cpu(before == 0 ? 1 : 0);
	return sched_getcpu() != before;
}
