// SPDX-License-Identifier: GPL-2.0
/*
 * A guest that makes hypercalls: see abi-machine.h.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "abi-machine.h"
#include "common.h"
#include "tap.h"

#define CPUID_HYPERVISOR_BASE	0x40000000
#define CPUID_HYPERVISOR_STEP	0x100

int64_t call(struct machine *machine, uint64_t op, uint64_t first,
	     uint64_t second, uint64_t third)
{
	uint64_t result = kvm_guest_hypercall(machine->vcpu,
					      KVM_PVPERF_HYPERCALL, op, first,
					      second, third);

	return machine->bits == 64 ? (int64_t)result : (int32_t)result;
}

int64_t act(struct machine *machine, uint64_t op, uint32_t set)
{
	return call(machine, op, set, machine->area->header.sequence, 0);
}

void act_well(struct machine *machine, uint64_t op, uint32_t set,
	      const char *what)
{
	uint32_t before = machine->area->header.sequence;

	tap_equal(act(machine, op, set), 0, "%s: success", what);
	tap_equal(machine->area->header.sequence, (uint32_t)(before + 1),
		  "%s: the sequence goes on by one", what);
}

void call_badly(struct machine *machine, uint64_t op, uint64_t first,
		uint64_t second, uint64_t third, int error,
		const char *what)
{
	struct kvm_pvperf_area before = *machine->area;

	tap_equal(call(machine, op, first, second, third), -error, "%s: -%d",
		  what, error);
	tap_ok(!memcmp(&before, machine->area, sizeof(before)),
	       "%s: the area is as before", what);
}

void request(struct machine *machine, int slot, uint32_t type,
	     uint64_t config, uint32_t flags)
{
	machine->area->slots[slot].request = (struct kvm_pvperf_request){
		.type = type, .flags = flags, .config = config,
	};
}

const struct kvm_pvperf_report *report(const struct machine *machine,
				       int slot)
{
	return &machine->area->slots[slot].report;
}

void write_port(struct machine *machine, uint32_t count)
{
	kvm_guest_port_writes(machine->vcpu, EXACT_PORT, 1, count);
}

void write_header(struct kvm_pvperf_area *area)
{
	memset(area, 0, sizeof(*area));
	area->header.magic = KVM_PVPERF_AREA_MAGIC;
	area->header.version = KVM_PVPERF_ABI_VERSION;
	area->header.header_size = sizeof(struct kvm_pvperf_header);
	area->header.slot_size = sizeof(struct kvm_pvperf_slot);
	area->header.slot_count = KVM_PVPERF_SLOTS;
}

int64_t set_up_at(struct machine *machine, uint64_t gpa)
{
	return call(machine, KVM_PVPERF_OP_SETUP, (uint32_t)gpa, gpa >> 32, 0);
}

void set_up(struct machine *machine)
{
	machine->area = kvm_guest_memory(machine->guest, AREA_GPA,
					 KVM_PVPERF_AREA_SIZE);
	write_header(machine->area);
	if (set_up_at(machine, AREA_GPA))
		errx(EXIT_FAILURE, "SETUP fails");
}

void set_mode(struct machine *machine, int bits, int cpl)
{
	kvm_guest_set_mode(machine->vcpu, bits, cpl);
	machine->bits = bits;
}

struct machine new_machine(unsigned int flags)
{
	struct machine machine = { .guest = kvm_guest_create(flags) };

	machine.vcpu = kvm_guest_add_vcpu(machine.guest);
	set_mode(&machine, 64, 0);
	machine.area = kvm_guest_memory(machine.guest, AREA_GPA,
					KVM_PVPERF_AREA_SIZE);
	return machine;
}

bool has_feature_bit(struct machine *machine)
{
	struct kvm_guest_cpuid cpuid;
	uint32_t n, base;

	for (n = 0; n < 256; n++) {
		base = CPUID_HYPERVISOR_BASE + n * CPUID_HYPERVISOR_STEP;
		cpuid = kvm_guest_cpuid(machine->vcpu, base, 0);
		if (memcmp(&cpuid.ebx, "KVMK", 4) ||
		    memcmp(&cpuid.ecx, "VMKV", 4) ||
		    memcmp(&cpuid.edx, "M\0\0\0", 4))
			continue;
		cpuid = kvm_guest_cpuid(machine->vcpu, base + 1, 0);
		return cpuid.eax & 1U << KVM_PVPERF_FEATURE_BIT;
	}
	errx(EXIT_FAILURE, "the vCPU has no signature of KVM");
}

void expect_report(struct machine *machine, int slot, uint32_t state,
		   uint64_t count, const char *what)
{
	tap_equal(report(machine, slot)->state, state, "%s: state %u", what,
		  state);
	tap_equal(report(machine, slot)->count, count, "%s: count %llu", what,
		  (unsigned long long)count);
}
