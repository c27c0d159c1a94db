/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest that has no kernel, and makes the hypercalls of docs/abi.md by its
 * registers.  What these functions expect is a result of the test.
 */
#ifndef KVM_PVPERF_TESTS_ABI_MACHINE_H
#define KVM_PVPERF_TESTS_ABI_MACHINE_H

#include <linux/kvm_pvperf.h>
#include <stdbool.h>
#include <stdint.h>

#include "kvm-guest.h"

#define AREA_GPA		KVM_GUEST_FREE

#define HARDWARE		KVM_PVPERF_TYPE_HARDWARE
#define CYCLES			0
#define BUS_CYCLES		6	/* one per port write: EXACT */
#define STALLED_CYCLES		7	/* the test PMU has no such event */

struct machine {
	struct kvm_guest *guest;
	struct kvm_guest_vcpu *vcpu;
	struct kvm_pvperf_area *area;
	int bits;
	uint32_t slots;
};

/* @flags: KVM_GUEST_*.  It has one vCPU, in 64-bit mode, at CPL 0. */
struct machine new_machine(unsigned int flags);
void set_mode(struct machine *machine, int bits, int cpl);
bool has_feature_bit(struct machine *machine);

/* One hypercall; returns its result. */
int64_t call(struct machine *machine, uint64_t op, uint64_t first,
	     uint64_t second, uint64_t third);

/* Expects an error, and that nothing in the area has changed. */
void call_badly(struct machine *machine, uint64_t op, uint64_t first,
		uint64_t second, uint64_t third, int error, const char *what);

void write_header(struct kvm_pvperf_area *area);
int64_t set_up_at(struct machine *machine, uint64_t gpa);

/* A fresh area, so that each test begins with nothing open. */
void set_up(struct machine *machine);

/* Fills the guest's half of a slot. */
void request(struct machine *machine, int slot, uint32_t type,
	     uint64_t config, uint32_t flags);

/* One of the five operations, with the sequence that the header shows. */
int64_t act(struct machine *machine, uint64_t op, uint32_t set);

/* Expects success and one step of the sequence. */
void act_well(struct machine *machine, uint64_t op, uint32_t set,
	      const char *what);

const struct kvm_pvperf_report *report(const struct machine *machine,
				       int slot);

void expect_report(struct machine *machine, int slot, uint32_t state,
		   uint64_t count, const char *what);

/* Has the guest make @count writes to the port. */
void write_port(struct machine *machine, uint32_t count);

#endif
