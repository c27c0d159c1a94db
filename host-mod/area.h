/* SPDX-License-Identifier: GPL-2.0 */
/* The guest's area: only inside a hypercall of its vCPU. */
#ifndef _HOST_MOD_AREA_H
#define _HOST_MOD_AREA_H

#include <linux/types.h>
#include <uapi/linux/kvm_pvperf.h>

struct kvm_vcpu;

int area_check_header(struct kvm_vcpu *vcpu, u64 area);
int area_clear(struct kvm_vcpu *vcpu, u64 area, u32 sequence);
int area_read_request(struct kvm_vcpu *vcpu, u64 area, unsigned int id,
		      struct kvm_pvperf_request *request);
int area_write_report(struct kvm_vcpu *vcpu, u64 area, unsigned int id,
		      const struct kvm_pvperf_report *report);
int area_write_progress(struct kvm_vcpu *vcpu, u64 area, u32 sequence,
			u32 running);
int area_write_header(struct kvm_vcpu *vcpu, u64 area, u32 sequence,
		      u32 running, u32 overflowed);

#endif
