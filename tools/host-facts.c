// SPDX-License-Identifier: GPL-2.0
#include "host-facts.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

bool first_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool was_read;

	if (!file)
		return false;
	was_read = fgets(line, size, file);
	fclose(file);
	if (was_read)
		line[strcspn(line, "\n")] = '\0';
	return was_read;
}

bool host_parameter(const char *name, char *text, size_t size)
{
	char path[128];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path),
		 "/sys/module/" HOST_MODULE "/parameters/%s", name);
	file = fopen(path, "re");
	if (!file)
		return false;
	length = fread(text, 1, size - 1, file);
	fclose(file);
	text[length] = '\0';
	return length;
}

void cpuinfo(const char *field, char *value, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	size_t length = strlen(field);
	char *line = NULL;
	size_t room = 0;

	snprintf(value, size, "unknown");
	while (file && getline(&line, &room, file) > 0) {
		if (strncmp(line, field, length) || !strchr(line, ':') ||
		    (line[length] != '\t' && line[length] != ':'))
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(value, size, "%s", strchr(line, ':') + 2);
		break;
	}
	free(line);
	if (file)
		fclose(file);
}

bool cpuinfo_has_flag(const char *flag)
{
	char flags[8192], *word, *rest;

	cpuinfo("flags", flags, sizeof(flags));
	for (word = strtok_r(flags, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest))
		if (!strcmp(word, flag))
			return true;
	return false;
}

bool module_is_loaded(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return !access(path, F_OK);
}

void kernel_package(char *text, size_t size)
{
	struct utsname kernel;
	char command[256];
	FILE *output;

	uname(&kernel);
	snprintf(text, size, "not packaged");
	snprintf(command, sizeof(command),
		 "dpkg-query -W -f '${Package} ${Version}' linux-image-%s 2>/dev/null",
		 kernel.release);
	output = popen(command, "re");
	if (!output)
		return;
	if (!fgets(text, size, output))
		snprintf(text, size, "not packaged");
	pclose(output);
}

int kernel_has_option(const char *option)
{
	struct utsname kernel;
	char path[256], wanted[128], line[256];
	int found = 0;
	FILE *file;

	uname(&kernel);
	snprintf(path, sizeof(path), "/boot/config-%s", kernel.release);
	file = fopen(path, "re");
	if (!file)
		return -1;
	snprintf(wanted, sizeof(wanted), "%s=y\n", option);
	while (!found && fgets(line, sizeof(line), file))
		found = !strcmp(line, wanted);
	fclose(file);
	return found;
}

int perf_counts_guests(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_host = 1,
		.disabled = 1,
	};
	int descriptor = syscall(SYS_perf_event_open, &attr, 0, -1, -1,
				 PERF_FLAG_FD_CLOEXEC);

	if (descriptor < 0)
		return errno;
	close(descriptor);
	return 0;
}
