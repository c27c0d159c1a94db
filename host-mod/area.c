// SPDX-License-Identifier: GPL-2.0
/*
 * KVM's accessors find the memory anew each time: nothing is pinned, writes
 * are seen by dirty logging, and memory that has gone away is an error.  They
 * need kvm->srcu, which KVM holds while it handles an exit.
 */
#include "log.h"
#include "area.h"

#include "kvm_symbols.h"

#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/string.h>

static int read_guest(struct kvm_vcpu *vcpu, u64 address, void *data,
		      unsigned long size)
{
	return static_call(call_kvm_vcpu_read_guest)(vcpu, address, data, size) ?
		-EFAULT : 0;
}

static int write_guest(struct kvm_vcpu *vcpu, u64 address, const void *data,
		       unsigned long size)
{
	return static_call(call_kvm_vcpu_write_guest)(vcpu, address, data,
						      size) ? -EFAULT : 0;
}

static u64 slot_address(u64 area, unsigned int id)
{
	return area + offsetof(struct kvm_pvperf_area, slots) +
	       id * sizeof(struct kvm_pvperf_slot);
}

/**
 * area_check_header() - is there a page that describes itself as we know it?
 * @vcpu: the running vCPU
 * @area: guest physical address, aligned
 *
 * Return: 0, -EFAULT or -EINVAL.
 */
int area_check_header(struct kvm_vcpu *vcpu, u64 area)
{
	const size_t guest_size =
		offsetof(struct kvm_pvperf_header, sequence);
	struct kvm_pvperf_header header = { 0 };

	if (read_guest(vcpu, area, &header, guest_size))
		return -EFAULT;

	if (header.magic != KVM_PVPERF_AREA_MAGIC ||
	    header.version != KVM_PVPERF_ABI_VERSION ||
	    header.header_size != sizeof(struct kvm_pvperf_header) ||
	    header.slot_size != sizeof(struct kvm_pvperf_slot) ||
	    header.slot_count != KVM_PVPERF_SLOTS ||
	    memchr_inv(header.guest_reserved, 0, sizeof(header.guest_reserved)))
		return -EINVAL;

	return 0;
}

/* The host's part of the header, up to the field at @end. */
static int write_header_until(struct kvm_vcpu *vcpu, u64 area,
			      const struct kvm_pvperf_header *header,
			      size_t end)
{
	const size_t offset = offsetof(struct kvm_pvperf_header, sequence);

	return write_guest(vcpu, area + offset, (const u8 *)header + offset,
			   end - offset);
}

/* Leaves alone what the header says of overflows. */
int area_write_progress(struct kvm_vcpu *vcpu, u64 area, u32 sequence,
			u32 running)
{
	const struct kvm_pvperf_header header = {
		.sequence = sequence,
		.running = running,
	};

	return write_header_until(vcpu, area, &header,
				  offsetof(struct kvm_pvperf_header,
					   overflowed));
}

int area_write_header(struct kvm_vcpu *vcpu, u64 area, u32 sequence,
		      u32 running, u32 overflowed)
{
	const struct kvm_pvperf_header header = {
		.sequence = sequence,
		.running = running,
		.overflowed = overflowed,
	};

	return write_header_until(vcpu, area, &header,
				  offsetof(struct kvm_pvperf_header,
					   host_reserved));
}

/* As after SETUP: nothing open, nothing counted. */
int area_clear(struct kvm_vcpu *vcpu, u64 area, u32 sequence)
{
	const struct kvm_pvperf_report closed = { 0 };
	unsigned int id;

	for (id = 0; id < KVM_PVPERF_SLOTS; id++)
		if (area_write_report(vcpu, area, id, &closed))
			return -EFAULT;

	return area_write_header(vcpu, area, sequence, 0, 0);
}

int area_read_request(struct kvm_vcpu *vcpu, u64 area, unsigned int id,
		      struct kvm_pvperf_request *request)
{
	return read_guest(vcpu, slot_address(area, id) +
			  offsetof(struct kvm_pvperf_slot, request),
			  request, sizeof(*request));
}

int area_write_report(struct kvm_vcpu *vcpu, u64 area, unsigned int id,
		      const struct kvm_pvperf_report *report)
{
	return write_guest(vcpu, slot_address(area, id) +
			   offsetof(struct kvm_pvperf_slot, report),
			   report, sizeof(*report));
}
