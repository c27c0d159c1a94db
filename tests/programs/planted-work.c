// SPDX-License-Identifier: GPL-2.0
/*
 * Spends known shares of its time in functions with known names: two of its own
 * and one of the guest's test module.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define SPIN_ITERATIONS		500000UL	/* of two instructions */
#define MAX_NUMBER		1000000UL
#define NSEC_PER_SEC		1000000000ULL

static const char usage[] =
"usage: planted-work [-u MAJOR] [-v MINOR] [-k KERNEL] ROUNDS\n"
"  -u MAJOR   units of each round in planted_user_major() (default 4)\n"
"  -v MINOR   units of each round in planted_user_minor() (default 2)\n"
"  -k KERNEL  units of each round in kvm_pvperf_planted_kernel() (default 4)\n"
"A unit is a million instructions of the same loop.  Prints how many nanoseconds\n"
"each took in truth: \"major=N minor=N kernel=N\".\n";

/*
 * Two functions, although they are the same; each with a frame, without which call
 * chains by frame pointers would have no caller.
 */
#define PLANTED_FUNCTION(name)						\
static __attribute__((noinline, noclone, no_icf)) void name(uint64_t units) \
{									\
	uint64_t iterations = units * SPIN_ITERATIONS;			\
									\
	asm volatile("" : : "r" (__builtin_frame_address(0)));		\
	if (units)							\
		asm volatile("1: dec %0\n\tjnz 1b"			\
			     : "+r" (iterations) : : "cc");		\
}

PLANTED_FUNCTION(planted_user_major)
PLANTED_FUNCTION(planted_user_minor)

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

struct shares {
	uint64_t major;
	uint64_t minor;
	uint64_t kernel;
};

/* A caller with a name of its own, which call chains must have. */
static __attribute__((noinline, noclone)) void
planted_caller(const struct shares *units, int device, struct shares *times)
{
	uint64_t begin = now(), end;

	planted_user_major(units->major);
	end = now();
	times->major += end - begin;
	begin = end;
	planted_user_minor(units->minor);
	end = now();
	times->minor += end - begin;
	begin = end;
	spin_in_kernel(device, units->kernel);
	times->kernel += now() - begin;
}

int main(int argc, char **argv)
{
	struct shares units = { .major = 4, .minor = 2, .kernel = 4 };
	struct shares times = {};
	uint64_t rounds;
	int device = -1;
	int option;

	while ((option = getopt(argc, argv, "u:v:k:")) != -1) {
		switch (option) {
		case 'u':
			units.major = parse_number(optarg, 0, MAX_NUMBER, "-u");
			break;
		case 'v':
			units.minor = parse_number(optarg, 0, MAX_NUMBER, "-v");
			break;
		case 'k':
			units.kernel = parse_number(optarg, 0, MAX_NUMBER,
						    "-k");
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
	rounds = parse_number(argv[optind], 1, MAX_NUMBER, "ROUNDS");
	if (units.kernel)
		device = open_guest_device();

	while (rounds--)
		planted_caller(&units, device, &times);
	printf("major=%llu minor=%llu kernel=%llu\n",
	       (unsigned long long)times.major,
	       (unsigned long long)times.minor,
	       (unsigned long long)times.kernel);
	return EXIT_SUCCESS;
}
