// SPDX-License-Identifier: GPL-2.0
#include "tiny-vm.h"

#include <err.h>
#include <linux/kvm.h>
#include <linux/kvm_pvperf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kvm-guest.h"

#define AREA_GPA		KVM_GUEST_FREE
#define INSTRUCTIONS		1
#define FEATURES_LEAF		0x40000001
#define APIC_LVTPC		0x340
#define APIC_SPURIOUS		0xf0
#define LVTPC_NMI		0x400
#define SPURIOUS_ENABLED	0x1ff

static int64_t call(struct kvm_guest_vcpu *vcpu, uint64_t operation,
		    uint64_t first, uint64_t second)
{
	return kvm_guest_hypercall(vcpu, KVM_PVPERF_HYPERCALL, operation,
				   first, second, 0);
}

static struct kvm_pvperf_area *area_of(struct kvm_guest *guest)
{
	return kvm_guest_memory(guest, AREA_GPA, KVM_PVPERF_AREA_SIZE);
}

static int64_t set_up(struct kvm_guest *guest, struct kvm_guest_vcpu *vcpu)
{
	struct kvm_pvperf_area *area = area_of(guest);

	memset(area, 0, sizeof(*area));
	area->header.magic = KVM_PVPERF_AREA_MAGIC;
	area->header.version = KVM_PVPERF_ABI_VERSION;
	area->header.header_size = sizeof(area->header);
	area->header.slot_size = sizeof(area->slots[0]);
	area->header.slot_count = KVM_PVPERF_SLOTS;
	return call(vcpu, KVM_PVPERF_OP_SETUP, AREA_GPA, 0);
}

/* NMIs stay pending, where they can be seen. */
static void route_pmi(struct kvm_guest_vcpu *vcpu)
{
	struct kvm_vcpu_events events;
	struct kvm_lapic_state apic;
	int descriptor = kvm_guest_vcpu_fd(vcpu);
	uint32_t value;

	if (ioctl(descriptor, KVM_GET_LAPIC, &apic))
		err(EXIT_FAILURE, "KVM_GET_LAPIC");
	value = SPURIOUS_ENABLED;
	memcpy(&apic.regs[APIC_SPURIOUS], &value, sizeof(value));
	value = LVTPC_NMI;
	memcpy(&apic.regs[APIC_LVTPC], &value, sizeof(value));
	if (ioctl(descriptor, KVM_SET_LAPIC, &apic))
		err(EXIT_FAILURE, "KVM_SET_LAPIC");

	if (ioctl(descriptor, KVM_GET_VCPU_EVENTS, &events))
		err(EXIT_FAILURE, "KVM_GET_VCPU_EVENTS");
	events.nmi.masked = 1;
	if (ioctl(descriptor, KVM_SET_VCPU_EVENTS, &events))
		err(EXIT_FAILURE, "KVM_SET_VCPU_EVENTS");
}

static bool nmi_is_pending(struct kvm_guest_vcpu *vcpu)
{
	struct kvm_vcpu_events events;

	if (ioctl(kvm_guest_vcpu_fd(vcpu), KVM_GET_VCPU_EVENTS, &events))
		err(EXIT_FAILURE, "KVM_GET_VCPU_EVENTS");
	return events.nmi.pending;
}

/* One instruction per iteration. */
static int64_t count_instructions(struct kvm_guest *guest,
				  struct kvm_guest_vcpu *vcpu,
				  uint64_t instructions, uint64_t period,
				  struct kvm_pvperf_report *result)
{
	struct kvm_pvperf_area *area = area_of(guest);
	int64_t error;

	area->slots[0].request = (struct kvm_pvperf_request){
		.type = KVM_PVPERF_TYPE_HARDWARE,
		.config = INSTRUCTIONS,
		.flags = period ? KVM_PVPERF_FLAG_SAMPLING : 0,
		.period = period,
		.left = period,
	};
	error = call(vcpu, KVM_PVPERF_OP_START, 1, area->header.sequence);
	if (error)
		return error;
	kvm_guest_spin(vcpu, instructions);
	error = call(vcpu, KVM_PVPERF_OP_READ, 1, area->header.sequence);
	*result = area->slots[0].report;
	return error;
}

static void sample(struct kvm_guest *guest, struct kvm_guest_vcpu *vcpu,
		   struct tiny_vm *vm)
{
	struct kvm_pvperf_report result = { };

	route_pmi(vcpu);
	vm->error = count_instructions(guest, vcpu, TINY_VM_INSTRUCTIONS,
				       TINY_VM_PERIOD, &result);
	vm->overflows = result.overflows;
	vm->has_pmi = nmi_is_pending(vcpu);
}

static void count(struct kvm_guest *guest, struct kvm_guest_vcpu *vcpu,
		  struct tiny_vm *vm)
{
	struct kvm_pvperf_report result = { };

	vm->error = set_up(guest, vcpu);
	if (!vm->error)
		vm->error = count_instructions(guest, vcpu,
					       TINY_VM_INSTRUCTIONS, 0,
					       &result);
	vm->state = result.state;
	vm->count = result.count;
	if (!vm->error)
		vm->error = count_instructions(guest, vcpu,
					       2 * TINY_VM_INSTRUCTIONS, 0,
					       &result);
	vm->count_of_twice = result.count;
	if (!vm->error && vm->capabilities & KVM_PVPERF_CAP_PMI)
		sample(guest, vcpu, vm);
}

struct tiny_vm tiny_vm_run(void)
{
	struct kvm_guest *guest = kvm_guest_create(KVM_GUEST_IRQCHIP);
	struct kvm_guest_vcpu *vcpu = kvm_guest_add_vcpu(guest);
	struct tiny_vm vm = {
		.has_bit = kvm_guest_cpuid(vcpu, FEATURES_LEAF, 0).eax &
			   1U << KVM_PVPERF_FEATURE_BIT,
		.abi = call(vcpu, KVM_PVPERF_OP_QUERY, KVM_PVPERF_QUERY_ABI, 0),
	};

	if (vm.abi >= 0) {
		vm.slots = call(vcpu, KVM_PVPERF_OP_QUERY,
				KVM_PVPERF_QUERY_SLOTS, 0);
		vm.capabilities = call(vcpu, KVM_PVPERF_OP_QUERY,
				       KVM_PVPERF_QUERY_CAPS, 0);
		count(guest, vcpu, &vm);
	}
	kvm_guest_destroy(guest);
	return vm;
}
