/* SPDX-License-Identifier: GPL-2.0 */
/* Parameter advertise: which VMs are offered the feature. */
#ifndef _HOST_MOD_ADVERTISE_H
#define _HOST_MOD_ADVERTISE_H

/**
 * enum advertise - who is offered the feature
 * @ADVERTISE_NONE: no VM
 * @ADVERTISE_ALL: every VM, whatever its VMM has set
 * @ADVERTISE_VMM: VMs whose VMM has set the bit, which KVM tells it is supported
 */
enum advertise { ADVERTISE_NONE, ADVERTISE_ALL, ADVERTISE_VMM };

enum advertise advertise_choice(void);

#endif
