/* SPDX-License-Identifier: GPL-2.0 */
/* Module parameters whose bad values are refused by a line in the log. */
#ifndef _HOST_MOD_PARAMETER_H
#define _HOST_MOD_PARAMETER_H

#include <linux/moduleparam.h>

int parameter_set_uint(const char *value, const struct kernel_param *param,
		       unsigned int lowest, unsigned int highest);
int parameter_set_bool(const char *value, const struct kernel_param *param);
void parameter_refuse(const char *value, const struct kernel_param *param,
		      const char *wanted);

#endif
