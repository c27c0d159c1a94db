/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Guest/host interface of the paravirtual performance monitoring unit.
 *
 * docs/abi.md is the normative text; tests/abi/ compares its numbers with
 * this header.  Everything here has the same layout in 32-bit and 64-bit
 * guests.
 */
#ifndef _UAPI_LINUX_KVM_PVPERF_H
#define _UAPI_LINUX_KVM_PVPERF_H

#include <linux/types.h>

/**
 * DOC: Detection
 *
 * KVM_PVPERF_FEATURE_BIT is the bit of EAX in the KVM features leaf, which is
 * the leaf after the one that carries the signature "KVMKVMKVM\0\0\0",
 * wherever that is.  Upstream uses bits 0 to 17 and 24.  The bit alone proves
 * nothing: KVM_PVPERF_QUERY_ABI must answer as stated there.
 */
#define KVM_PVPERF_FEATURE_BIT		28

/**
 * DOC: Hypercall
 *
 * KVM_PVPERF_HYPERCALL is the hypercall number in EAX/RAX.  Upstream counts
 * up from 1; this number is far from that sequence ("PVPF" in ASCII).  The
 * operation is in EBX/RBX, its arguments are in ECX/RCX, EDX/RDX and
 * ESI/RSI, the result comes in EAX/RAX; no other register changes.  Every
 * argument is a 32-bit value: in 64-bit mode the upper halves must be zero.
 */
#define KVM_PVPERF_HYPERCALL		0x50565046

/**
 * enum kvm_pvperf_op - operations, in EBX/RBX
 * @KVM_PVPERF_OP_QUERY: ECX = an item of enum kvm_pvperf_query; EDX = ESI = 0.
 *	Returns the item's value, 0 to 0x7fffffff.  Needs no area.
 * @KVM_PVPERF_OP_CHECK: can this event be opened?  ECX = event type in bits
 *	0 to 7 and KVM_PVPERF_FLAG_* in bits 8 to 31, EDX and ESI = config, low
 *	and high half.  Returns 0 or an error.  Needs no area.
 * @KVM_PVPERF_OP_SETUP: use the area at a guest physical address: ECX = its
 *	low half, EDX = its high half, ESI = 0.  Closes whatever this vCPU had
 *	open before.
 * @KVM_PVPERF_OP_RESET: ECX = EDX = ESI = 0.  Closes everything of this vCPU
 *	and forgets its area.  Always succeeds.
 * @KVM_PVPERF_OP_OPEN: open the events that the slots of a set describe.
 * @KVM_PVPERF_OP_CLOSE: close the events of a set.
 * @KVM_PVPERF_OP_START: open those of a set that are not open as described,
 *	and start a new run of all of them.
 * @KVM_PVPERF_OP_STOP: stop the events of a set and report their run.
 * @KVM_PVPERF_OP_READ: report the current run of the events of a set.
 *
 * OPEN, CLOSE, START, STOP and READ take a set of slots in ECX (bit n stands
 * for slot n), the sequence that the area's header shows in EDX, and 0 in ESI.
 */
enum kvm_pvperf_op {
	KVM_PVPERF_OP_QUERY	= 0,
	KVM_PVPERF_OP_CHECK	= 1,
	KVM_PVPERF_OP_SETUP	= 2,
	KVM_PVPERF_OP_RESET	= 3,
	KVM_PVPERF_OP_OPEN	= 4,
	KVM_PVPERF_OP_CLOSE	= 5,
	KVM_PVPERF_OP_START	= 6,
	KVM_PVPERF_OP_STOP	= 7,
	KVM_PVPERF_OP_READ	= 8,
};

/**
 * enum kvm_pvperf_query - items of KVM_PVPERF_OP_QUERY
 * @KVM_PVPERF_QUERY_ABI: KVM_PVPERF_ABI_MAGIC in bits 16 to 31 and the newest
 *	ABI version that the host speaks in bits 0 to 15.
 * @KVM_PVPERF_QUERY_SLOTS: number of usable slots, 1 to KVM_PVPERF_SLOTS.
 * @KVM_PVPERF_QUERY_CAPS: KVM_PVPERF_CAP_* bits.
 * @KVM_PVPERF_QUERY_MIN_PERIOD: smallest sample period, in events; 0 if the
 *	host does not offer sampling.
 */
enum kvm_pvperf_query {
	KVM_PVPERF_QUERY_ABI		= 0,
	KVM_PVPERF_QUERY_SLOTS		= 1,
	KVM_PVPERF_QUERY_CAPS		= 2,
	KVM_PVPERF_QUERY_MIN_PERIOD	= 3,
};

#define KVM_PVPERF_ABI_MAGIC		0x5056
#define KVM_PVPERF_ABI_VERSION		1

/* Overflows are delivered through LVTPC of the vCPU's local APIC. */
#define KVM_PVPERF_CAP_PMI		(1U << 0)

/*
 * Errors, returned negated.  1, 14, 22, 95 and 1000 are those of
 * <linux/kvm_para.h>; the others continue Linux' own numbers.
 */
#define KVM_PVPERF_EPERM		1	/* not at CPL 0 */
#define KVM_PVPERF_ENOENT		2	/* the host cannot count this */
#define KVM_PVPERF_ENOMEM		12	/* the host has no memory now */
#define KVM_PVPERF_EACCES		13	/* the host's policy forbids it */
#define KVM_PVPERF_EFAULT		14	/* the area is not usable memory */
#define KVM_PVPERF_EINVAL		22	/* malformed request */
#define KVM_PVPERF_EOPNOTSUPP		95	/* not possible on this vCPU */
#define KVM_PVPERF_ESTALE		116	/* set up again */
#define KVM_PVPERF_ENOSYS		1000	/* nobody serves this hypercall */

/* Event types: the same numbers as enum perf_type_id. */
#define KVM_PVPERF_TYPE_HARDWARE	0
#define KVM_PVPERF_TYPE_HW_CACHE	3
#define KVM_PVPERF_TYPE_RAW		4

#define KVM_PVPERF_FLAG_EXCLUDE_USER	(1U << 0)	/* not at CPL 1 to 3 */
#define KVM_PVPERF_FLAG_EXCLUDE_KERNEL	(1U << 1)	/* not at CPL 0 */
#define KVM_PVPERF_FLAG_SAMPLING	(1U << 2)	/* overflows wanted */
#define KVM_PVPERF_FLAGS_ALL		0x7U

/**
 * enum kvm_pvperf_state - what the host does with a slot
 * @KVM_PVPERF_STATE_CLOSED: nothing is open.
 * @KVM_PVPERF_STATE_STOPPED: open, not counting.
 * @KVM_PVPERF_STATE_RUNNING: counting, all of the run so far.
 * @KVM_PVPERF_STATE_CONTENDED: started, but for a part of the run the host's
 *	counters were busy with something else; the times tell how much.
 * @KVM_PVPERF_STATE_THROTTLED: started, but overflowed so often that the host
 *	stopped it for a part of the run.
 * @KVM_PVPERF_STATE_UNSUPPORTED: the host cannot count this.
 * @KVM_PVPERF_STATE_DENIED: the host's policy forbids it.
 * @KVM_PVPERF_STATE_LIMIT: the host has as many events open as it allows.
 * @KVM_PVPERF_STATE_INVALID: the guest's half of the slot is malformed.
 */
enum kvm_pvperf_state {
	KVM_PVPERF_STATE_CLOSED		= 0,
	KVM_PVPERF_STATE_STOPPED	= 1,
	KVM_PVPERF_STATE_RUNNING	= 2,
	KVM_PVPERF_STATE_CONTENDED	= 3,
	KVM_PVPERF_STATE_THROTTLED	= 4,
	KVM_PVPERF_STATE_UNSUPPORTED	= 5,
	KVM_PVPERF_STATE_DENIED		= 6,
	KVM_PVPERF_STATE_LIMIT		= 7,
	KVM_PVPERF_STATE_INVALID	= 8,
};

/**
 * struct kvm_pvperf_request - a slot's half that the guest writes
 * @type: KVM_PVPERF_TYPE_*.
 * @flags: KVM_PVPERF_FLAG_*; other bits must be zero.
 * @config: as perf_event_attr.config of that type.
 * @period: sample period in events, QUERY_MIN_PERIOD to 2^63 - 1; 0 without
 *	KVM_PVPERF_FLAG_SAMPLING.
 * @left: events until the first overflow of the next run, 1 to @period; 0
 *	without KVM_PVPERF_FLAG_SAMPLING.
 * @reserved: must be zero.
 *
 * The host reads this in OPEN and START only, and copies it once.
 */
struct kvm_pvperf_request {
	__u32 type;
	__u32 flags;
	__u64 config;
	__u64 period;
	__u64 left;
	__u64 reserved[2];
};

/**
 * struct kvm_pvperf_report - a slot's half that the host writes
 * @count: events counted in the current run.
 * @time_enabled: nanoseconds of the run in which the vCPU's thread ran.
 * @time_running: nanoseconds of @time_enabled in which the event counted.
 * @overflows: overflows in the current run.
 * @state: enum kvm_pvperf_state.
 * @reserved: zero.
 *
 * A run begins with START, which sets all but @state to zero, and ends with
 * STOP.  Where @time_running is less than @time_enabled, @count is what was
 * counted in that share of the time.
 */
struct kvm_pvperf_report {
	__u64 count;
	__u64 time_enabled;
	__u64 time_running;
	__u32 overflows;
	__u32 state;
	__u64 reserved[2];
};

/**
 * struct kvm_pvperf_slot - one event of one vCPU
 * @request: written by the guest.
 * @report: written by the host.
 */
struct kvm_pvperf_slot {
	struct kvm_pvperf_request request;
	struct kvm_pvperf_report report;
};

#define KVM_PVPERF_SLOTS		32
#define KVM_PVPERF_AREA_SIZE		4096
#define KVM_PVPERF_AREA_MAGIC		0x66707670	/* "pvpf" in memory */

/**
 * struct kvm_pvperf_header - the first 256 bytes of an area
 * @magic: KVM_PVPERF_AREA_MAGIC, written by the guest before SETUP.
 * @version: KVM_PVPERF_ABI_VERSION, written by the guest before SETUP.
 * @header_size: 256, written by the guest before SETUP.
 * @slot_size: 96, written by the guest before SETUP.
 * @slot_count: 32, written by the guest before SETUP.
 * @guest_reserved: must be zero.
 * @sequence: written by the host.  SETUP chooses it, every successful OPEN,
 *	CLOSE, START, STOP and READ adds one; the next of them passes it.
 * @running: written by the host: the set of slots that are started.
 * @overflowed: written by the host: the set of slots with overflows since
 *	this vCPU's previous START, STOP or READ.
 * @host_reserved: zero.
 */
struct kvm_pvperf_header {
	__u32 magic;
	__u16 version;
	__u16 header_size;
	__u16 slot_size;
	__u16 slot_count;
	__u32 guest_reserved[13];
	__u32 sequence;
	__u32 running;
	__u32 overflowed;
	__u32 host_reserved[45];
};

/**
 * struct kvm_pvperf_area - the page that a vCPU and the host share
 * @header: see struct kvm_pvperf_header.
 * @slots: see struct kvm_pvperf_slot.
 * @reserved: must be zero.
 *
 * Aligned to KVM_PVPERF_AREA_SIZE in guest physical memory.  The host touches
 * it only inside a hypercall that this vCPU makes.
 */
struct kvm_pvperf_area {
	struct kvm_pvperf_header header;
	struct kvm_pvperf_slot slots[KVM_PVPERF_SLOTS];
	__u8 reserved[768];
};

#ifndef __cplusplus
#define KVM_PVPERF_ASSERT_SIZE(type, size) \
	_Static_assert(sizeof(struct type) == (size), "size of " #type)
#define KVM_PVPERF_ASSERT_OFFSET(type, member, offset) \
	_Static_assert(__builtin_offsetof(struct type, member) == (offset), \
		       "offset of " #type "." #member)

KVM_PVPERF_ASSERT_SIZE(kvm_pvperf_request, 48);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_request, type, 0);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_request, flags, 4);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_request, config, 8);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_request, period, 16);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_request, left, 24);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_request, reserved, 32);

KVM_PVPERF_ASSERT_SIZE(kvm_pvperf_report, 48);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_report, count, 0);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_report, time_enabled, 8);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_report, time_running, 16);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_report, overflows, 24);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_report, state, 28);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_report, reserved, 32);

KVM_PVPERF_ASSERT_SIZE(kvm_pvperf_slot, 96);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_slot, request, 0);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_slot, report, 48);

KVM_PVPERF_ASSERT_SIZE(kvm_pvperf_header, 256);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_header, magic, 0);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_header, version, 4);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_header, header_size, 6);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_header, slot_size, 8);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_header, slot_count, 10);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_header, guest_reserved, 12);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_header, sequence, 64);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_header, running, 68);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_header, overflowed, 72);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_header, host_reserved, 76);

KVM_PVPERF_ASSERT_SIZE(kvm_pvperf_area, KVM_PVPERF_AREA_SIZE);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_area, header, 0);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_area, slots, 256);
KVM_PVPERF_ASSERT_OFFSET(kvm_pvperf_area, reserved, 3328);
#endif /* !__cplusplus */

#endif /* _UAPI_LINUX_KVM_PVPERF_H */
