// SPDX-License-Identifier: GPL-2.0
/*
 * check-host: can this host give its guests a paravirtual PMU?  To be run as root
 * before a host goes into production; takes some seconds and changes nothing,
 * unless it is told to load the module.
 */
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/kvm_pvperf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "host-facts.h"
#include "report.h"
#include "tiny-vm.h"

#define WRONG_USAGE	2
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define COUNT_ACCURACY	100	/* of the number: one percent */

static const char usage[] =
"usage: check-host [-l]\n"
"  -l  load " HOST_MODULE " if it is not loaded, and unload it at the end\n"
"Says, a line for each check, whether this host can give its guests a paravirtual\n"
"PMU, and prints a row for docs/kernels.md.\n"
"Exit status: 0 it can, 1 a check has failed, 2 wrong usage or not root.\n";

/* The columns of the row, filled by the checks. */
static struct {
	char kernel[128];
	char package[128];
	char cpu[256];
	const char *symbols;
	char probes[64];
	const char *pmu;
	char counted[64];
} row = {
	.symbols = "not found", .probes = "none", .pmu = "none",
	.counted = "no",
};

static void check_kernel(void)
{
	static const char *const options[] = {
		"CONFIG_PERF_EVENTS", "CONFIG_KPROBES", "CONFIG_KRETPROBES",
		"CONFIG_KPROBES_ON_FTRACE", "CONFIG_DYNAMIC_FTRACE_WITH_REGS",
		"CONFIG_HAVE_STATIC_CALL",
	};
	struct utsname kernel;
	size_t i;

	uname(&kernel);
	snprintf(row.kernel, sizeof(row.kernel), "%s", kernel.release);
	kernel_package(row.package, sizeof(row.package));
	report(strcmp(kernel.machine, "x86_64") ? BAD : GOOD, "kernel",
	       "%s %s, %s", kernel.release, kernel.machine, row.package);

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		switch (kernel_has_option(options[i])) {
		case 0:
			report(BAD, "kernel", "has no %s: use another kernel",
			       options[i]);
			break;
		case -1:
			report(NOTE, "kernel",
			       "no /boot/config-%s: its options were not checked",
			       kernel.release);
			return;
		}
	}
}

static void check_cpu(void)
{
	char vendor[64], model[128];

	cpuinfo("vendor_id", vendor, sizeof(vendor));
	cpuinfo("model name", model, sizeof(model));
	snprintf(row.cpu, sizeof(row.cpu), "%s, %s%s%s", vendor, model,
		 cpuinfo_has_flag("hypervisor") ? ", itself a guest" : "",
		 cpuinfo_has_flag("ibt") ? ", IBT" : "");
	report(GOOD, "CPU", "%s", row.cpu);
}

static void check_kvm(void)
{
	const char *vendor_module = module_is_loaded("kvm_amd") ? "kvm_amd" :
		module_is_loaded("kvm_intel") ? "kvm_intel" : NULL;

	if (!vendor_module)
		report(BAD, "KVM",
		       "not loaded: modprobe kvm_amd or kvm_intel (firmware settings?)");
	else if (access("/dev/kvm", R_OK | W_OK))
		report(BAD, "KVM", "%s is loaded, but there is no /dev/kvm",
		       vendor_module);
	else
		report(GOOD, "KVM", "%s is loaded", vendor_module);
}

static void check_switch(const char *check, const char *path)
{
	char line[64];

	if (!first_line(path, line, sizeof(line)))
		report(NOTE, check, "%s cannot be read: not checked", path);
	else if (strcmp(line, "1"))
		report(BAD, check, "switched off: echo 1 >%s", path);
	else
		report(GOOD, check, "switched on");
}

static void check_signatures(void)
{
	char enforced[8];

	if (first_line("/sys/module/module/parameters/sig_enforce", enforced,
		       sizeof(enforced)) && *enforced == 'Y')
		report(NOTE, "signatures",
		       "required for modules: see sign-modules -h");
	else
		report(GOOD, "signatures", "not required for modules");
}

static void check_pmu(void)
{
	bool is_native = !access("/sys/bus/event_source/devices/cpu", F_OK) ||
		!access("/sys/bus/event_source/devices/cpu_core", F_OK);
	int error = perf_counts_guests();
	char watchdog[8];

	if (error) {
		report(BAD, "PMU", "perf counts no instructions of guests: %s",
		       strerror(error));
		return;
	}
	row.pmu = is_native ? "hardware" : "not the CPU's own";
	report(is_native ? GOOD : NOTE, "PMU",
	       "%s; perf counts instructions of guests", row.pmu);
	if (first_line("/proc/sys/kernel/nmi_watchdog", watchdog,
		       sizeof(watchdog)) && !strcmp(watchdog, "1"))
		report(NOTE, "PMU",
		       "the NMI watchdog keeps one counter of each CPU: kernel.nmi_watchdog");
}

static bool check_module(void)
{
	char version[64] = "unknown version";

	if (!module_is_loaded(HOST_MODULE)) {
		report(BAD, "module",
		       HOST_MODULE
		       " is not loaded: modprobe it, or say -l; see dmesg");
		return false;
	}
	first_line("/sys/module/" HOST_MODULE "/version", version,
		   sizeof(version));
	row.symbols = "found";
	report(GOOD, "module", HOST_MODULE " %s", version);
	return true;
}

/* Lines of the parameter: NAME armed|off hits N missed N. */
static void check_probes(void)
{
	char text[4096], name[128], state[16], *line, *rest;
	unsigned long hits, missed;
	int armed = 0, off = 0;

	if (!host_parameter("probes", text, sizeof(text))) {
		report(BAD, "probes", "their state cannot be read");
		return;
	}
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, "%127s %15s hits %lu missed %lu", name, state,
			   &hits, &missed) != 4) {
			report(BAD, "probes", "not understood: %s", line);
			continue;
		}
		if (strcmp(state, "armed")) {
			off++;
			report(BAD, "probes", "%s is off: see dmesg", name);
			continue;
		}
		armed++;
		report(missed ? NOTE : GOOD, "probes",
		       "%s: %lu calls served, %lu missed", name, hits, missed);
	}
	snprintf(row.probes, sizeof(row.probes), "%d, %d off", armed, off);
}

static bool is_about(uint64_t number, uint64_t expected, uint64_t accuracy)
{
	uint64_t tolerance = expected / accuracy;

	return number >= expected - tolerance && number <= expected + tolerance;
}

static void check_counting(const struct tiny_vm *vm)
{
	const unsigned long long count = vm->count, expected =
		TINY_VM_INSTRUCTIONS, twice = vm->count_of_twice;

	if (vm->error || vm->state != KVM_PVPERF_STATE_RUNNING || !count) {
		report(BAD, "tiny VM",
		       "counts nothing: error %lld, state %u (include/uapi/linux/kvm_pvperf.h)",
		       (long long)vm->error, vm->state);
		return;
	}
	if (!is_about(twice, 2 * count, 10)) {
		report(BAD, "tiny VM",
		       "twice the work counts %llu, once %llu: is the PMU shared?",
		       twice, count);
		return;
	}
	snprintf(row.counted, sizeof(row.counted), "%llu of %llu instructions",
		 count, expected);
	report(is_about(count, expected, COUNT_ACCURACY) ? GOOD : NOTE,
	       "tiny VM", "counts %s, %llu for twice the work", row.counted,
	       twice);
}

static void check_sampling(const struct tiny_vm *vm)
{
	if (!(vm->capabilities & KVM_PVPERF_CAP_PMI))
		report(NOTE, "tiny VM", "no sampling on this kernel: see dmesg");
	else if (vm->error || !vm->overflows || !vm->has_pmi)
		report(BAD, "tiny VM",
		       "samples nothing: error %lld, %u overflows, %s",
		       (long long)vm->error, vm->overflows,
		       vm->has_pmi ? "a PMI" : "no PMI");
	else
		report(GOOD, "tiny VM", "samples: %u overflows, and a PMI",
		       vm->overflows);
}

static void check_vm(void)
{
	const struct tiny_vm vm = tiny_vm_run();

	if (!vm.has_bit || vm.abi < 0) {
		report(BAD, "tiny VM",
		       "is not offered the PMU: CPUID bit %s, QUERY %lld; parameter advertise?",
		       vm.has_bit ? "set" : "clear", (long long)vm.abi);
		return;
	}
	report(GOOD, "tiny VM", "is offered ABI %lld with %lld slots",
	       (long long)(vm.abi & 0xffff), (long long)vm.slots);
	check_counting(&vm);
	if (!report_has_failed())
		check_sampling(&vm);
}

static void print_row(void)
{
	char date[16];
	time_t now = time(NULL);

	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
	printf("\n| %s | %s | %s | %s | %s | %s | %s | %s |\n", row.kernel,
	       row.package, row.cpu, row.symbols, row.probes, row.pmu,
	       row.counted, date);
}

int main(int argc, char **argv)
{
	bool may_load = false, has_loaded = false;
	int option;

	while ((option = getopt(argc, argv, "lh")) != -1) {
		switch (option) {
		case 'l':
			may_load = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		default:
			fputs(usage, stderr);
			return WRONG_USAGE;
		}
	}
	if (optind != argc) {
		fputs(usage, stderr);
		return WRONG_USAGE;
	}
	if (geteuid()) {
		warnx("only root can find that out");
		return WRONG_USAGE;
	}

	check_kernel();
	check_cpu();
	check_kvm();
	check_switch("ftrace", "/proc/sys/kernel/ftrace_enabled");
	check_switch("kprobes", "/sys/kernel/debug/kprobes/enabled");
	check_signatures();
	check_pmu();
	if (may_load && !module_is_loaded(HOST_MODULE))
		has_loaded = !system("modprobe " HOST_MODULE);
	if (check_module()) {
		check_probes();
		if (!report_has_failed())
			check_vm();
	}
	if (has_loaded && system("modprobe -r " HOST_MODULE))
		report(BAD, "module", "cannot be unloaded again");
	print_row();
	return report_has_failed() ? EXIT_FAILURE : EXIT_SUCCESS;
}
