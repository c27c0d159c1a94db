// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "kvm_symbols.h"

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/utsname.h>

DEFINE_STATIC_CALL_NULL(call_kvm_vcpu_read_guest, kvm_vcpu_read_guest);
DEFINE_STATIC_CALL_NULL(call_kvm_vcpu_write_guest, kvm_vcpu_write_guest);
DEFINE_STATIC_CALL_NULL(call_kvm_skip_emulated_instruction,
			kvm_skip_emulated_instruction);
DEFINE_STATIC_CALL_NULL(call_kvm_get_segment, kvm_get_segment);
DEFINE_STATIC_CALL_NULL(call_kvm_get_running_vcpu, kvm_get_running_vcpu);
DEFINE_STATIC_CALL_NULL(call_kvm_pmu_deliver_pmi, kvm_pmu_deliver_pmi);
DEFINE_STATIC_CALL_NULL(call_kvm_dev_ioctl_get_cpuid, kvm_dev_ioctl_get_cpuid);

/**
 * struct kvm_symbol - one function that is taken from KVM
 * @name: KVM's name for it
 * @exported: found through the export table, which pins kvm.ko until it is
 *	put; otherwise through kprobes' knowledge of symbols
 * @feature: what cannot be done without it; NULL if that is everything
 * @bind: makes the static call go there
 * @held: an export is held
 * @found: it can be called
 */
struct kvm_symbol {
	const char *name;
	bool exported;
	const char *feature;
	void (*bind)(void *address);
	bool held;
	bool found;
};

#define DEFINE_BIND(function)						\
static void bind_##function(void *address)				\
{									\
	typeof(function) *target = address;				\
									\
	static_call_update(call_##function, target);			\
}

DEFINE_BIND(kvm_vcpu_read_guest)
DEFINE_BIND(kvm_vcpu_write_guest)
DEFINE_BIND(kvm_skip_emulated_instruction)
DEFINE_BIND(kvm_get_segment)
DEFINE_BIND(kvm_get_running_vcpu)
DEFINE_BIND(kvm_pmu_deliver_pmi)
DEFINE_BIND(kvm_dev_ioctl_get_cpuid)

#define EXPORTED(function) { #function, true, NULL, bind_##function }
#define UNEXPORTED(function) { #function, false, NULL, bind_##function }
#define OPTIONAL(function, feature) { #function, false, feature, bind_##function }

enum optional_symbol {
	SYMBOL_DELIVER_PMI,
	SYMBOL_GET_SUPPORTED_CPUID,
};

static struct kvm_symbol kvm_symbols[] = {
	[SYMBOL_DELIVER_PMI] = OPTIONAL(kvm_pmu_deliver_pmi, "sampling"),
	[SYMBOL_GET_SUPPORTED_CPUID] =
		OPTIONAL(kvm_dev_ioctl_get_cpuid,
			 "bit for VMMs to set (advertise=vmm)"),
	EXPORTED(kvm_vcpu_read_guest),
	EXPORTED(kvm_vcpu_write_guest),
	EXPORTED(kvm_skip_emulated_instruction),
	EXPORTED(kvm_get_running_vcpu),
	UNEXPORTED(kvm_get_segment),
};

unsigned long kvm_symbols_probe_address(const char *name)
{
	struct kprobe probe = { .flags = KPROBE_FLAG_DISABLED };
	char qualified[KSYM_NAME_LEN];
	unsigned long address;

	/* Named with its module: the kernel has other kvm_* functions. */
	snprintf(qualified, sizeof(qualified), "kvm:%s", name);
	probe.symbol_name = qualified;
	if (register_kprobe(&probe))
		return 0;

	address = (unsigned long)probe.addr;
	unregister_kprobe(&probe);
	return address;
}

static void *find(struct kvm_symbol *symbol)
{
	void *address;

	if (!symbol->exported)
		return (void *)kvm_symbols_probe_address(symbol->name);

	address = __symbol_get(symbol->name);
	symbol->held = address;
	return address;
}

int kvm_symbols_resolve(void)
{
	struct kvm_symbol *symbol;
	void *address;

	for (symbol = kvm_symbols;
	     symbol < kvm_symbols + ARRAY_SIZE(kvm_symbols); symbol++) {
		address = find(symbol);
		if (!address && symbol->feature) {
			pr_warn("KVM of kernel %s has no function %s: no %s\n",
				init_utsname()->release, symbol->name,
				symbol->feature);
			continue;
		}
		if (!address) {
			pr_err("KVM of kernel %s has no function %s, or kvm.ko is not loaded\n",
			       init_utsname()->release, symbol->name);
			kvm_symbols_release();
			return -ENOENT;
		}
		symbol->bind(address);
		symbol->found = true;
	}
	return 0;
}

bool kvm_symbols_can_deliver_pmi(void)
{
	return kvm_symbols[SYMBOL_DELIVER_PMI].found;
}

bool kvm_symbols_can_get_supported_cpuid(void)
{
	return kvm_symbols[SYMBOL_GET_SUPPORTED_CPUID].found;
}

void kvm_symbols_release(void)
{
	struct kvm_symbol *symbol;

	for (symbol = kvm_symbols;
	     symbol < kvm_symbols + ARRAY_SIZE(kvm_symbols); symbol++) {
		if (!symbol->held)
			continue;
		__symbol_put(symbol->name);
		symbol->held = false;
	}
}
