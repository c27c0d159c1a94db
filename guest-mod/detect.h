/* SPDX-License-Identifier: GPL-2.0 */
/* Is there a host that counts for us, and what does it offer? */
#ifndef _GUEST_MOD_DETECT_H
#define _GUEST_MOD_DETECT_H

int detect_host(void);

#endif
