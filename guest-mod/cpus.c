// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU that goes needs nothing: the perf core takes its events off later than
 * any callback of ours could come, and stopped slots cost nothing.  What it had
 * on the host is still there when it is back, or found to be stale and set up
 * again with its first event.  Only the CPU's own state is lost.
 *
 * The boot CPU's local APIC may be reset without its having gone, by a suspend: then
 * the kernel itself has LVTPC back as it was.
 */
#include "log.h"
#include "cpus.h"

#include "host_check.h"
#include "pmi.h"

#include <linux/cpuhotplug.h>

/* On another CPU, before this one runs anything. */
static int cpu_comes(unsigned int cpu)
{
	host_check_cancel(cpu);
	pmi_forget_cpu(cpu);
	return 0;
}

static enum cpuhp_state cpu_state;

int cpus_watch(void)
{
	int state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN,
					      "perf/x86/kvm_pvperf:prepare",
					      cpu_comes, NULL);

	if (state < 0)
		return state;

	cpu_state = state;
	return 0;
}

void cpus_unwatch(void)
{
	cpuhp_remove_state_nocalls(cpu_state);
}
