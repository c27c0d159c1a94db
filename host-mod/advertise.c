// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "advertise.h"
#include "parameter.h"

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/string.h>

static const char * const advertise_names[] = {
	[ADVERTISE_NONE] = "none",
	[ADVERTISE_ALL] = "all",
	[ADVERTISE_VMM] = "vmm",
};

static int advertise = ADVERTISE_ALL;

static int set_advertise(const char *value, const struct kernel_param *param)
{
	int choice = sysfs_match_string(advertise_names, value);

	if (choice < 0) {
		parameter_refuse(value, param, "one of all, vmm and none");
		return choice;
	}
	WRITE_ONCE(advertise, choice);
	return 0;
}

static int get_advertise(char *buffer, const struct kernel_param *param)
{
	return scnprintf(buffer, PAGE_SIZE, "%s\n", advertise_names[advertise]);
}

static const struct kernel_param_ops advertise_ops = {
	.set = set_advertise,
	.get = get_advertise,
};

module_param_cb(advertise, &advertise_ops, NULL, 0644);
MODULE_PARM_DESC(advertise,
		 "which VMs are offered the paravirtual PMU: all (default); vmm: those whose VMM has set the bit, which KVM_GET_SUPPORTED_CPUID has then; none; guests look when they load their module");

/* Callable with preemption off. */
enum advertise advertise_choice(void)
{
	return READ_ONCE(advertise);
}
NOKPROBE_SYMBOL(advertise_choice);
