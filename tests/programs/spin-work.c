// SPDX-License-Identifier: GPL-2.0
/*
 * spin-work UNITS
 *
 * Executes UNITS * 10 million instructions in user mode and nothing else worth
 * mentioning: 10 ms of virtual time a unit where an instruction is 1 ns.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"

#define ITERATIONS_PER_UNIT	5000000UL	/* of two instructions */
#define MAX_UNITS		1000000UL

int main(int argc, char **argv)
{
	uint64_t iterations;

	if (argc != 2)
		errx(EXIT_FAILURE, "usage: spin-work UNITS");

	iterations = parse_number(argv[1], 1, MAX_UNITS, "UNITS") *
		     ITERATIONS_PER_UNIT;
	asm volatile("1: dec %0\n\tjnz 1b" : "+r" (iterations) : : "cc");
	printf("units=%s\n", argv[1]);
	return EXIT_SUCCESS;
}
