// SPDX-License-Identifier: GPL-2.0
/*
 * Lists, in the host VM, what KVM shows and answers to guests: all CPUID leaves, and
 * hypercalls by all kinds of numbers; of a plain VM, of one with Hyper-V's interface
 * and of one with Xen's.  The same with and without the host's module, but for its
 * own bit and number.
 */
#include <err.h>
#include <linux/kvm.h>
#include <linux/kvm_pvperf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common.h"
#include "kvm-guest.h"

#define HYPERV_GUEST_OS_ID	0x40000000
#define XEN_HYPERCALL_MSR	0x40000200
#define HYPERV_LEAVES		0x100
#define TABLE_ENTRIES		256

enum interface { PLAIN, HYPERV, XEN, INTERFACES };

static const char *const interface_names[INTERFACES] = {
	"plain", "hyper-v", "xen",
};

/* With Hyper-V's leaves at their place, KVM's move by as much as VMMs move them. */
static void add_hyperv_leaves(struct kvm_guest *guest)
{
	struct kvm_cpuid2 *cpuid = kvm_guest_vcpus_cpuid(guest);
	struct kvm_cpuid2 *hyperv;
	uint32_t i;

	hyperv = calloc(1, sizeof(*hyperv) +
			   TABLE_ENTRIES * sizeof(hyperv->entries[0]));
	if (!hyperv)
		err(EXIT_FAILURE, "calloc");
	hyperv->nent = TABLE_ENTRIES;
	if (ioctl(kvm_guest_kvm_fd(guest), KVM_GET_SUPPORTED_HV_CPUID, hyperv))
		err(EXIT_FAILURE, "KVM_GET_SUPPORTED_HV_CPUID");

	for (i = 0; i < cpuid->nent; i++)
		if (cpuid->entries[i].function >> 8 == 0x400000)
			cpuid->entries[i].function += HYPERV_LEAVES;
	if (cpuid->nent + hyperv->nent > TABLE_ENTRIES)
		errx(EXIT_FAILURE, "too many CPUID leaves");
	memcpy(cpuid->entries + cpuid->nent, hyperv->entries,
	       hyperv->nent * sizeof(hyperv->entries[0]));
	cpuid->nent += hyperv->nent;
	free(hyperv);
}

static void set_msr(struct kvm_guest_vcpu *vcpu, uint32_t index, uint64_t value)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} msrs = {
		.head.nmsrs = 1,
		.entry = { .index = index, .data = value },
	};

	if (ioctl(kvm_guest_vcpu_fd(vcpu), KVM_SET_MSRS, &msrs) != 1)
		errx(EXIT_FAILURE, "MSR %#x cannot be set", index);
}

/* Kernels can be built without it. */
static bool has_xen(void)
{
	struct kvm_guest *guest = kvm_guest_create(0);
	int features = ioctl(kvm_guest_kvm_fd(guest), KVM_CHECK_EXTENSION,
			     KVM_CAP_XEN_HVM);

	kvm_guest_destroy(guest);
	return features > 0 && features & KVM_XEN_HVM_CONFIG_INTERCEPT_HCALL;
}

static struct kvm_guest *new_vm(enum interface interface,
				struct kvm_guest_vcpu **vcpu)
{
	struct kvm_guest *guest = kvm_guest_create(KVM_GUEST_IRQCHIP);
	struct kvm_xen_hvm_config xen = {
		.flags = KVM_XEN_HVM_CONFIG_INTERCEPT_HCALL,
		.msr = XEN_HYPERCALL_MSR,
	};

	if (interface == HYPERV)
		add_hyperv_leaves(guest);
	if (interface == XEN &&
	    ioctl(kvm_guest_fd(guest), KVM_XEN_HVM_CONFIG, &xen))
		err(EXIT_FAILURE, "KVM_XEN_HVM_CONFIG");
	*vcpu = kvm_guest_add_vcpu(guest);
	if (interface == HYPERV)
		set_msr(*vcpu, HYPERV_GUEST_OS_ID, 0x8100000000000000);
	return guest;
}

static void list_leaf(const char *name, struct kvm_guest_vcpu *vcpu,
		      uint32_t leaf, uint32_t subleaf)
{
	struct kvm_guest_cpuid cpuid = kvm_guest_cpuid(vcpu, leaf, subleaf);

	printf("%s cpuid %#x %u: %08x %08x %08x %08x\n", name, leaf, subleaf,
	       cpuid.eax, cpuid.ebx, cpuid.ecx, cpuid.edx);
}

static void list_cpuid(const char *name, struct kvm_guest_vcpu *vcpu)
{
	static const uint32_t bases[] = {
		0, 0x40000000, 0x40000100, 0x40000200, 0x4000ff00, 0x40010000,
		0x80000000, 0xc0000000, 0xfffffff0,
	};
	uint32_t leaf, subleaf;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bases); i++)
		for (leaf = bases[i]; leaf - bases[i] < 0x30 &&
		     leaf >= bases[i]; leaf++)
			for (subleaf = 0; subleaf < 3; subleaf++)
				list_leaf(name, vcpu, leaf, subleaf);
}

static void list_hypercalls(const char *name, struct kvm_guest_vcpu *vcpu,
			    int mode, int cpl)
{
	static const uint64_t numbers[] = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 50, 0x10000,
		KVM_PVPERF_HYPERCALL - 1, KVM_PVPERF_HYPERCALL,
		KVM_PVPERF_HYPERCALL + 1, 1ULL << 32 | KVM_PVPERF_HYPERCALL,
		1ULL << 63 | KVM_PVPERF_HYPERCALL, 0x7fffffff, 0x80000000,
		0xffffffff, 1ULL << 32, 1ULL << 63, ~0ULL,
	};
	uint64_t result;
	uint32_t reason;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		/* An exception, which Hyper-V's calls may end with, resets it. */
		kvm_guest_set_mode(vcpu, mode, cpl);
		reason = kvm_guest_hypercall_exit(vcpu, numbers[i], 0, 0, 0, 0,
						  &result);
		printf("%s hypercall %#llx, mode %d, CPL %d: exit %u, %#llx\n",
		       name, (unsigned long long)numbers[i], mode, cpl, reason,
		       (unsigned long long)result);
	}
	kvm_guest_set_mode(vcpu, KVM_GUEST_64_BIT, 0);
}

int main(int argc, char **argv)
{
	static const int modes[] = {
		KVM_GUEST_REAL_MODE, KVM_GUEST_16_BIT, KVM_GUEST_32_BIT,
		KVM_GUEST_COMPATIBILITY, KVM_GUEST_64_BIT,
	};
	enum interface interface;
	struct kvm_guest_vcpu *vcpu;
	struct kvm_guest *guest;
	const char *name;
	size_t i;

	if (argc != 1) {
		fprintf(stderr, "usage: %s\n", argv[0]);
		return EXIT_FAILURE;
	}

	setlinebuf(stdout);
	/* CPUID has the local APIC id of the CPU that KVM was asked on. */
	pin_to_cpu(usable_cpu(0));
	for (interface = 0; interface < INTERFACES; interface++) {
		name = interface_names[interface];
		if (interface == XEN && !has_xen()) {
			printf("this kernel has no interface of Xen\n");
			continue;
		}
		guest = new_vm(interface, &vcpu);
		list_cpuid(name, vcpu);
		for (i = 0; i < ARRAY_SIZE(modes); i++) {
			list_hypercalls(name, vcpu, modes[i], 0);
			if (modes[i] != KVM_GUEST_REAL_MODE)
				list_hypercalls(name, vcpu, modes[i], 3);
		}
		kvm_guest_destroy(guest);
	}
	return EXIT_SUCCESS;
}
