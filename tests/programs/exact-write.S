/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two symbols, so that the instruction behind the write has a name in profiles.
 */
#include "common.h"

	.text

	.globl exact_write
	.type exact_write, @function
exact_write:
	mov $EXACT_PORT, %edx
	xor %eax, %eax
	out %al, %dx
	.size exact_write, . - exact_write

	.globl after_exact_write
	.type after_exact_write, @function
after_exact_write:
	ret
	.size after_exact_write, . - after_exact_write

	.section .note.GNU-stack, "", @progbits
