/* SPDX-License-Identifier: GPL-2.0 */
/* The events that are on this CPU, and when the host is told of them. */
#ifndef _GUEST_MOD_CPU_EVENTS_H
#define _GUEST_MOD_CPU_EVENTS_H

#include "slots.h"

#include <linux/types.h>

struct perf_event;
struct pt_regs;

/* All of these: on the calling CPU, with interrupts off. */
void cpu_events_disable(void);
void cpu_events_enable(void);
int cpu_events_add(struct perf_event *event,
		   const struct event_description *description);
void cpu_events_del(struct perf_event *event);
void cpu_events_start(struct perf_event *event);
void cpu_events_stop(struct perf_event *event);
void cpu_events_read(struct perf_event *event);
void cpu_events_begin_transaction(unsigned int flags);
void cpu_events_commit_transaction(void);
void cpu_events_cancel_transaction(void);

/* In NMI context: false if the NMI has nothing to do with us. */
bool cpu_events_interrupt(struct pt_regs *regs);

/* In a timer interrupt: false if nothing is on this CPU. */
void cpu_events_check_host(void);

#endif
