// SPDX-License-Identifier: GPL-2.0
#include "log.h"
#include "hypercall.h"

#include "area.h"
#include "cpuid.h"
#include "event_policy.h"
#include "event_table.h"
#include "kvm_symbols.h"
#include "pmi.h"
#include "vcpu_state.h"

#include <asm/processor-flags.h>
#include <compat/kvm_vcpu.h>
#include <linux/bitops.h>
#include <linux/kprobes.h>
#include <linux/nospec.h>
#include <linux/random.h>

/**
 * struct hypercall - the guest's registers
 * @operation: EBX
 * @arguments: ECX, EDX, ESI
 */
struct hypercall {
	u32 operation;
	u32 arguments[3];
};

/**
 * struct set_operation - an operation on a set of slots
 * @takes_requests: reads the guest's halves of the slots first
 * @tells_overflows: of all slots, since the last such operation
 * @apply: does it to one slot
 */
struct set_operation {
	bool takes_requests;
	bool tells_overflows;
	void (*apply)(struct vcpu_state *state, unsigned int id);
};

static bool is_protected_mode(struct kvm_vcpu *vcpu)
{
	return vcpu->arch.cr0 & X86_CR0_PE;
}

/* SS holds the CPL on both vendors' CPUs; real mode is CPL 0. */
static u8 privilege_level(struct kvm_vcpu *vcpu)
{
	struct kvm_segment ss;

	if (!is_protected_mode(vcpu))
		return 0;

	static_call(call_kvm_get_segment)(vcpu, &ss, VCPU_SREG_SS);
	return ss.dpl;
}

static bool is_in_64_bit_mode(struct kvm_vcpu *vcpu)
{
	struct kvm_segment cs;

	if (!(vcpu->arch.efer & EFER_LMA))
		return false;

	static_call(call_kvm_get_segment)(vcpu, &cs, VCPU_SREG_CS);
	return cs.l;
}

/**
 * hypercall_is_ours() - does the running vCPU make the perf hypercall?
 * @vcpu: the vCPU that the calling thread runs
 *
 * Called with preemption off, so it only looks at memory.  With Hyper-V's or
 * Xen's hypercalls the register means something else; a nested guest's
 * hypercalls are its own hypervisor's.
 */
bool hypercall_is_ours(struct kvm_vcpu *vcpu)
{
	unsigned long number;

	/* Registers of encrypted guests are not KVM's to see. */
	if (compat_kvm_vcpu_state_is_encrypted(vcpu))
		return false;

	number = vcpu->arch.regs[VCPU_REGS_RAX];
	if (!(vcpu->arch.efer & EFER_LMA))
		number = (u32)number;
	if (number != KVM_PVPERF_HYPERCALL)
		return false;

	return !compat_kvm_vcpu_runs_nested_guest(vcpu) &&
	       !compat_kvm_has_hyperv_hypercalls(vcpu->kvm) &&
	       !compat_kvm_has_xen_hypercalls(vcpu->kvm);
}
NOKPROBE_SYMBOL(hypercall_is_ours);

static long query(struct kvm_vcpu *vcpu, u32 item)
{
	switch (item) {
	case KVM_PVPERF_QUERY_ABI:
		return KVM_PVPERF_ABI_MAGIC << 16 | KVM_PVPERF_ABI_VERSION;
	case KVM_PVPERF_QUERY_SLOTS:
		return event_policy_slots();
	case KVM_PVPERF_QUERY_CAPS:
		return pmi_is_possible(vcpu) ? KVM_PVPERF_CAP_PMI : 0;
	case KVM_PVPERF_QUERY_MIN_PERIOD:
		return pmi_is_possible(vcpu) ? event_policy_min_period() : 0;
	default:
		return -EINVAL;
	}
}

static void complain_of_denial(struct kvm_vcpu *vcpu)
{
	if (vcpu_state_may_complain(vcpu, VM_COMPLAINT_DENIED))
		pr_info_ratelimited("%s[%d]: raw event refused: see parameter allow_raw, and the VMM's event filter\n",
				    current->comm, task_tgid_nr(current));
}

static void complain_of_limit(struct kvm_vcpu *vcpu)
{
	if (vcpu_state_may_complain(vcpu, VM_COMPLAINT_LIMIT))
		pr_info_ratelimited("%s[%d]: event refused: parameter max_events_total or the host's perf core allows no more\n",
				    current->comm, task_tgid_nr(current));
}

static long check(struct kvm_vcpu *vcpu, const u32 arguments[3])
{
	const struct event_description event = {
		.type = arguments[0] & 0xff,
		.flags = arguments[0] >> 8,
		.config = (u64)arguments[2] << 32 | arguments[1],
	};
	int error = event_table_check(vcpu, &event);

	if (error == -EACCES)
		complain_of_denial(vcpu);
	return error;
}

static long set_up(struct kvm_vcpu *vcpu, u64 area)
{
	struct vcpu_state *state;
	int error;

	if (!IS_ALIGNED(area, KVM_PVPERF_AREA_SIZE))
		return -EINVAL;

	error = area_check_header(vcpu, area);
	if (error)
		return error;

	state = vcpu_state_alloc(vcpu);
	if (!state)
		return -ENOMEM;

	state->area = area;
	state->sequence = get_random_u32();
	state->slots = event_policy_slots();

	error = area_clear(vcpu, area, state->sequence);
	if (error) {
		vcpu_state_discard(state);
		return error;
	}

	vcpu_state_install(state);
	return 0;
}

static void complain(struct vcpu_state *state, unsigned int id)
{
	switch (state->events.slots[id].state) {
	case KVM_PVPERF_STATE_DENIED:
		complain_of_denial(state->vcpu);
		break;
	case KVM_PVPERF_STATE_LIMIT:
		complain_of_limit(state->vcpu);
		break;
	}
}

static void open_slot(struct vcpu_state *state, unsigned int id)
{
	event_table_open(&state->events, id, &state->requests[id]);
	complain(state, id);
}

static void start_slot(struct vcpu_state *state, unsigned int id)
{
	event_table_start(&state->events, id, &state->requests[id]);
	complain(state, id);
}

static void close_slot(struct vcpu_state *state, unsigned int id)
{
	event_table_close(&state->events, id);
}

static void stop_slot(struct vcpu_state *state, unsigned int id)
{
	event_table_stop(&state->events, id);
}

static void read_slot(struct vcpu_state *state, unsigned int id)
{
}

static const struct set_operation set_operations[] = {
	[KVM_PVPERF_OP_OPEN] = { true, false, open_slot },
	[KVM_PVPERF_OP_CLOSE] = { false, false, close_slot },
	[KVM_PVPERF_OP_START] = { true, true, start_slot },
	[KVM_PVPERF_OP_STOP] = { false, true, stop_slot },
	[KVM_PVPERF_OP_READ] = { false, true, read_slot },
};

static bool is_known_operation(u32 operation)
{
	return operation < ARRAY_SIZE(set_operations);
}

static int read_requests(struct vcpu_state *state, unsigned long set)
{
	unsigned int id;

	for_each_set_bit(id, &set, KVM_PVPERF_SLOTS)
		if (area_read_request(state->vcpu, state->area, id,
				      &state->requests[id]))
			return -EFAULT;
	return 0;
}

static int write_reports(struct vcpu_state *state,
			 const struct set_operation *operation,
			 unsigned long set)
{
	struct kvm_pvperf_report report;
	unsigned int id;

	if (operation->tells_overflows)
		event_table_begin_reports(&state->events);

	for_each_set_bit(id, &set, KVM_PVPERF_SLOTS) {
		event_table_report(&state->events, id, &report);
		if (area_write_report(state->vcpu, state->area, id, &report))
			return -EFAULT;
	}

	if (!operation->tells_overflows)
		return area_write_progress(state->vcpu, state->area,
					   state->sequence,
					   state->events.started);
	return area_write_header(state->vcpu, state->area, state->sequence,
				 state->events.started,
				 event_table_take_overflowed(&state->events));
}

static long operate_on_set(struct kvm_vcpu *vcpu,
			   const struct set_operation *operation,
			   unsigned long set, u32 sequence)
{
	struct vcpu_state *state = vcpu_state_find(vcpu);
	unsigned int id;

	/* The events count what another thread does, if anything. */
	if (state && state->thread != current) {
		vcpu_state_forget(vcpu);
		state = NULL;
	}
	if (!state || state->sequence != sequence)
		return -KVM_PVPERF_ESTALE;

	if (set & ~GENMASK(state->slots - 1, 0))
		return -EINVAL;

	if (operation->takes_requests && read_requests(state, set))
		return -EFAULT;

	for_each_set_bit(id, &set, KVM_PVPERF_SLOTS)
		operation->apply(state, id);

	state->sequence++;
	if (write_reports(state, operation, set)) {
		vcpu_state_forget(vcpu);
		return -EFAULT;
	}
	return 0;
}

static long serve(struct kvm_vcpu *vcpu, const struct hypercall *call)
{
	const struct set_operation *operation;
	const u32 *arguments = call->arguments;

	switch (call->operation) {
	case KVM_PVPERF_OP_QUERY:
		return arguments[1] || arguments[2] ? -EINVAL :
			query(vcpu, arguments[0]);
	case KVM_PVPERF_OP_CHECK:
		return check(vcpu, arguments);
	case KVM_PVPERF_OP_SETUP:
		return arguments[2] ? -EINVAL :
			set_up(vcpu, (u64)arguments[1] << 32 | arguments[0]);
	case KVM_PVPERF_OP_RESET:
		if (arguments[0] || arguments[1] || arguments[2])
			return -EINVAL;
		vcpu_state_forget(vcpu);
		return 0;
	}

	operation = &set_operations[array_index_nospec(call->operation,
						       ARRAY_SIZE(set_operations))];
	if (arguments[2])
		return -EINVAL;

	return operate_on_set(vcpu, operation, arguments[0], arguments[1]);
}

static long decode_and_serve(struct kvm_vcpu *vcpu, bool is_64_bit)
{
	const unsigned long *regs = vcpu->arch.regs;
	const struct hypercall call = {
		.operation = regs[VCPU_REGS_RBX],
		.arguments = {
			regs[VCPU_REGS_RCX],
			regs[VCPU_REGS_RDX],
			regs[VCPU_REGS_RSI],
		},
	};

	if (privilege_level(vcpu))
		return -KVM_PVPERF_EPERM;

	/* As KVM answers, but a vCPU that had the feature is to keep nothing. */
	if (!cpuid_vcpu_has_feature(vcpu)) {
		vcpu_state_forget(vcpu);
		return -KVM_PVPERF_ENOSYS;
	}

	if (!is_known_operation(call.operation))
		return -KVM_PVPERF_ENOSYS;
	if (is_64_bit && (upper_32_bits(regs[VCPU_REGS_RBX]) ||
			  upper_32_bits(regs[VCPU_REGS_RCX]) ||
			  upper_32_bits(regs[VCPU_REGS_RDX]) ||
			  upper_32_bits(regs[VCPU_REGS_RSI])))
		return -EINVAL;

	return serve(vcpu, &call);
}

/**
 * hypercall_emulate() - instead of kvm_emulate_hypercall(), for our number
 * @vcpu: the vCPU that the calling thread runs; it may sleep and holds
 *	kvm->srcu, as when KVM calls its own function
 *
 * Return: what the skipping of the guest's instruction returns.
 */
int hypercall_emulate(struct kvm_vcpu *vcpu)
{
	bool is_64_bit = is_in_64_bit_mode(vcpu);
	long result = decode_and_serve(vcpu, is_64_bit);

	vcpu->arch.regs[VCPU_REGS_RAX] = is_64_bit ? result : (u32)result;
	compat_kvm_count_hypercall(vcpu);
	return static_call(call_kvm_skip_emulated_instruction)(vcpu);
}
