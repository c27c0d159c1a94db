// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "parameter.h"

#include <linux/kernel.h>
#include <linux/string.h>

/* What is written by echo ends with a newline. */
void parameter_refuse(const char *value, const struct kernel_param *param,
		      const char *wanted)
{
	pr_err_ratelimited("%s=%.*s: not %s\n", param->name,
			   (int)strcspn(value, "\n"), value, wanted);
}

int parameter_set_uint(const char *value, const struct kernel_param *param,
		       unsigned int lowest, unsigned int highest)
{
	int error = param_set_uint_minmax(value, param, lowest, highest);
	char wanted[sizeof("a number from 4294967295 to 4294967295")];

	if (error) {
		snprintf(wanted, sizeof(wanted), "a number from %u to %u",
			 lowest, highest);
		parameter_refuse(value, param, wanted);
	}
	return error;
}

int parameter_set_bool(const char *value, const struct kernel_param *param)
{
	int error = param_set_bool(value, param);

	if (error)
		parameter_refuse(value, param, "Y or N");
	return error;
}
