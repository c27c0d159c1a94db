/* SPDX-License-Identifier: GPL-2.0 */
/* What this machine says of itself. */
#ifndef KVM_PVPERF_TOOLS_HOST_FACTS_H
#define KVM_PVPERF_TOOLS_HOST_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#define HOST_MODULE	"kvm_pvperf_host"

/* The first line of a file without its end; false if it cannot be read. */
bool first_line(const char *path, char *line, size_t size);

/* A parameter of the loaded host module, all lines; false without it. */
bool host_parameter(const char *name, char *text, size_t size);

/* A field of /proc/cpuinfo, of the first CPU; "unknown" without it. */
void cpuinfo(const char *field, char *value, size_t size);
bool cpuinfo_has_flag(const char *flag);

/* Is a kernel module loaded? */
bool module_is_loaded(const char *name);

/* The package and version that the running kernel is from, or "not packaged". */
void kernel_package(char *text, size_t size);

/*
 * An option of the running kernel's configuration in /boot: 1 if it is built in, 0
 * if not, -1 if there is no such file.
 */
int kernel_has_option(const char *option);

/* Does the kernel's perf count guests' instructions for this process?  0 or errno. */
int perf_counts_guests(void);

#endif
