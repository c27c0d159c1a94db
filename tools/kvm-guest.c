// SPDX-License-Identifier: GPL-2.0
/*
 * A tiny KVM guest: see kvm-guest.h.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvm-guest.h"

#define LIBRARY_REGION		0
#define CALLER_REGION		1

#define PAGE_TABLES_GPA		0x1000
#define CODE_GPA		0x10000
#define CODE_STRIDE		0x100
#define STACK_GPA(vcpu)		(0x20000 + ((vcpu) + 1) * 0x4000)
#define STRING_GPA		0x80000

/* Every piece of guest code ends with a write to this port. */
#define DONE_PORT		0xf4
#define DONE			"\xe6\xf4"	/* out %al,$0xf4 */

#define PTE_PRESENT		0x1
#define PTE_WRITABLE		0x2
#define PTE_USER		0x4
#define PTE_LARGE		0x80
#define PTE_ALL			(PTE_PRESENT | PTE_WRITABLE | PTE_USER)

#define CR0_PE			(1UL << 0)
#define CR0_NE			(1UL << 5)
#define CR0_PG			(1UL << 31)
#define CR4_PAE			(1UL << 5)
#define CR4_OSFXSR		(1UL << 9)
#define EFER_LME		(1UL << 8)
#define EFER_LMA		(1UL << 10)

#define RFLAGS_FIXED		(1UL << 1)
#define RFLAGS_IOPL_3		(3UL << 12)

enum piece {
	PIECE_VMCALL,
	PIECE_VMMCALL,
	PIECE_CPUID,
	PIECE_OUT_BYTE,
	PIECE_OUT_WORD,
	PIECE_OUT_LONG,
	PIECE_OUT_STRING,
	PIECE_SPIN,
	PIECES,
};

/* The same bytes in 32-bit and 64-bit mode, so only such instructions. */
static const struct {
	const char *bytes;
	size_t size;
} pieces[PIECES] = {
#define PIECE(bytes)	{ bytes DONE, sizeof(bytes DONE) - 1 }
	[PIECE_VMCALL]		= PIECE("\x0f\x01\xc1"),
	[PIECE_VMMCALL]		= PIECE("\x0f\x01\xd9"),
	[PIECE_CPUID]		= PIECE("\x0f\xa2"),
	/* 1: out %al,%dx; loop 1b */
	[PIECE_OUT_BYTE]	= PIECE("\xee\xe2\xfd"),
	/* 1: out %ax,%dx; loop 1b */
	[PIECE_OUT_WORD]	= PIECE("\x66\xef\xe2\xfc"),
	/* 1: out %eax,%dx; loop 1b */
	[PIECE_OUT_LONG]	= PIECE("\xef\xe2\xfd"),
	/* rep outsb */
	[PIECE_OUT_STRING]	= PIECE("\xf3\x6e"),
	/* 1: loop 1b */
	[PIECE_SPIN]		= PIECE("\xe2\xfe"),
#undef PIECE
};

struct kvm_guest_vcpu {
	struct kvm_guest *guest;
	struct kvm_run *run;
	int fd;
	int index;
	int cpl;
	uint64_t code_base;
};

struct kvm_guest {
	int kvm_fd;
	int fd;
	int run_size;
	unsigned char *memory;
	struct kvm_cpuid2 *cpuid;
	enum piece hypercall;
	int vcpu_count;
	struct kvm_guest_vcpu vcpus[KVM_GUEST_MAX_VCPUS];
};

static int checked_ioctl(int fd, unsigned long request, unsigned long argument,
			 const char *name)
{
	int result = ioctl(fd, request, argument);

	if (result < 0)
		err(EXIT_FAILURE, "%s", name);
	return result;
}

#define CHECKED_IOCTL(fd, request, argument) \
	checked_ioctl(fd, request, (unsigned long)(argument), #request)

static void get_supported_cpuid(struct kvm_guest *guest)
{
	const size_t entries = 256;
	const char *vendor = "AuthenticAMD";
	uint32_t i;

	guest->cpuid = calloc(1, sizeof(*guest->cpuid) +
				 entries * sizeof(guest->cpuid->entries[0]));
	if (!guest->cpuid)
		err(EXIT_FAILURE, "calloc");
	guest->cpuid->nent = entries;
	CHECKED_IOCTL(guest->kvm_fd, KVM_GET_SUPPORTED_CPUID, guest->cpuid);

	guest->hypercall = PIECE_VMCALL;
	for (i = 0; i < guest->cpuid->nent; i++) {
		const struct kvm_cpuid_entry2 *entry =
			&guest->cpuid->entries[i];

		if (entry->function == 0 &&
		    !memcmp(&entry->ebx, vendor, 4) &&
		    !memcmp(&entry->edx, vendor + 4, 4) &&
		    !memcmp(&entry->ecx, vendor + 8, 4))
			guest->hypercall = PIECE_VMMCALL;
	}
}

static void write_page_tables(struct kvm_guest *guest)
{
	uint64_t *pml4 = kvm_guest_memory(guest, PAGE_TABLES_GPA, 3 * 4096);
	uint64_t *pdpt = pml4 + 512;
	uint64_t *pd = pdpt + 512;
	uint64_t i;

	pml4[0] = (PAGE_TABLES_GPA + 0x1000) | PTE_ALL;
	pdpt[0] = (PAGE_TABLES_GPA + 0x2000) | PTE_ALL;
	for (i = 0; i < 512; i++)
		pd[i] = i << 21 | PTE_ALL | PTE_LARGE;
}

static void write_code(struct kvm_guest *guest)
{
	int i;

	for (i = 0; i < PIECES; i++)
		memcpy(kvm_guest_memory(guest, CODE_GPA + i * CODE_STRIDE,
					pieces[i].size),
		       pieces[i].bytes, pieces[i].size);
}

static void set_memory(struct kvm_guest *guest, uint32_t slot, uint64_t gpa,
		       uint64_t size, uint32_t flags)
{
	struct kvm_userspace_memory_region region = {
		.slot = slot, .flags = flags, .guest_phys_addr = gpa,
		.memory_size = size,
		.userspace_addr = (uintptr_t)guest->memory + gpa,
	};

	CHECKED_IOCTL(guest->fd, KVM_SET_USER_MEMORY_REGION, &region);
}

struct kvm_guest *kvm_guest_create(unsigned int flags)
{
	struct kvm_guest *guest = calloc(1, sizeof(*guest));

	if (!guest)
		err(EXIT_FAILURE, "calloc");
	guest->kvm_fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (guest->kvm_fd < 0)
		err(EXIT_FAILURE, "/dev/kvm");
	guest->fd = CHECKED_IOCTL(guest->kvm_fd, KVM_CREATE_VM, 0);
	guest->run_size = CHECKED_IOCTL(guest->kvm_fd, KVM_GET_VCPU_MMAP_SIZE,
					0);

	guest->memory = mmap(NULL, KVM_GUEST_MEMORY, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (guest->memory == MAP_FAILED)
		err(EXIT_FAILURE, "mmap");
	set_memory(guest, LIBRARY_REGION, 0, KVM_GUEST_FREE, 0);
	set_memory(guest, CALLER_REGION, KVM_GUEST_FREE,
		   KVM_GUEST_MEMORY - KVM_GUEST_FREE, 0);
	if (flags & KVM_GUEST_IRQCHIP)
		CHECKED_IOCTL(guest->fd, KVM_CREATE_IRQCHIP, 0);

	get_supported_cpuid(guest);
	write_page_tables(guest);
	write_code(guest);
	return guest;
}

void kvm_guest_destroy(struct kvm_guest *guest)
{
	int i;

	for (i = 0; i < guest->vcpu_count; i++) {
		munmap(guest->vcpus[i].run, guest->run_size);
		close(guest->vcpus[i].fd);
	}
	close(guest->fd);
	close(guest->kvm_fd);
	munmap(guest->memory, KVM_GUEST_MEMORY);
	free(guest->cpuid);
	free(guest);
}

struct kvm_cpuid2 *kvm_guest_vcpus_cpuid(struct kvm_guest *guest)
{
	return guest->cpuid;
}

struct kvm_guest_vcpu *kvm_guest_add_vcpu(struct kvm_guest *guest)
{
	struct kvm_mp_state runnable = { .mp_state = KVM_MP_STATE_RUNNABLE };
	struct kvm_guest_vcpu *vcpu;

	if (guest->vcpu_count == KVM_GUEST_MAX_VCPUS)
		errx(EXIT_FAILURE, "more than %d vCPUs", KVM_GUEST_MAX_VCPUS);

	vcpu = &guest->vcpus[guest->vcpu_count];
	vcpu->guest = guest;
	vcpu->index = guest->vcpu_count++;
	vcpu->fd = CHECKED_IOCTL(guest->fd, KVM_CREATE_VCPU, vcpu->index);
	vcpu->run = mmap(NULL, guest->run_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED, vcpu->fd, 0);
	if (vcpu->run == MAP_FAILED)
		err(EXIT_FAILURE, "mmap of a vCPU");
	CHECKED_IOCTL(vcpu->fd, KVM_SET_CPUID2, guest->cpuid);
	/* With a local APIC all but the first would wait for another to start them. */
	CHECKED_IOCTL(vcpu->fd, KVM_SET_MP_STATE, &runnable);
	kvm_guest_set_mode(vcpu, 64, 0);
	return vcpu;
}

static bool is_long_mode(int mode)
{
	return mode == KVM_GUEST_64_BIT || mode == KVM_GUEST_COMPATIBILITY;
}

static bool is_16_bit_mode(int mode)
{
	return mode == KVM_GUEST_16_BIT || mode == KVM_GUEST_REAL_MODE;
}

void kvm_guest_set_mode(struct kvm_guest_vcpu *vcpu, int mode, int cpl)
{
	const bool is_32_bit = mode == KVM_GUEST_32_BIT ||
			       mode == KVM_GUEST_COMPATIBILITY;
	struct kvm_segment code = {
		.limit = 0xffffffff, .selector = 0x08 | cpl, .type = 11,
		.present = 1, .dpl = cpl, .s = 1, .g = 1,
		.l = mode == KVM_GUEST_64_BIT, .db = is_32_bit,
	};
	struct kvm_segment data = {
		.limit = 0xffffffff, .selector = 0x10 | cpl, .type = 3,
		.present = 1, .dpl = cpl, .s = 1, .g = 1, .db = 1,
	};
	struct kvm_sregs sregs;

	if ((!is_long_mode(mode) && !is_32_bit && !is_16_bit_mode(mode)) ||
	    cpl < 0 || cpl > 3 || (mode == KVM_GUEST_REAL_MODE && cpl))
		errx(EXIT_FAILURE, "no mode %d at CPL %d", mode, cpl);

	/* There the code is beyond what the instruction pointer reaches. */
	if (is_16_bit_mode(mode)) {
		code.base = CODE_GPA;
		code.limit = 0xffff;
		code.g = 0;
	}
	if (mode == KVM_GUEST_REAL_MODE) {
		code.selector = CODE_GPA >> 4;
		data.selector = 0;
		data.limit = 0xffff;
		data.g = 0;
		data.db = 0;
	}

	CHECKED_IOCTL(vcpu->fd, KVM_GET_SREGS, &sregs);
	sregs.cs = code;
	sregs.ds = data;
	sregs.es = data;
	sregs.fs = data;
	sregs.gs = data;
	sregs.ss = data;
	/* Any exception ends the VM, instead of going anywhere. */
	sregs.idt.limit = 0;
	sregs.cr3 = PAGE_TABLES_GPA;
	sregs.cr0 = CR0_NE;
	sregs.cr4 = CR4_OSFXSR;
	sregs.efer = 0;
	if (mode != KVM_GUEST_REAL_MODE)
		sregs.cr0 |= CR0_PE;
	if (is_long_mode(mode)) {
		sregs.cr0 |= CR0_PG;
		sregs.cr4 |= CR4_PAE;
		sregs.efer = EFER_LME | EFER_LMA;
	}
	CHECKED_IOCTL(vcpu->fd, KVM_SET_SREGS, &sregs);
	vcpu->cpl = cpl;
	vcpu->code_base = code.base;
}

void *kvm_guest_memory(struct kvm_guest *guest, uint64_t gpa, size_t size)
{
	if (gpa > KVM_GUEST_MEMORY || size > KVM_GUEST_MEMORY - gpa)
		errx(EXIT_FAILURE, "no guest memory at %#llx + %#zx",
		     (unsigned long long)gpa, size);
	return guest->memory + gpa;
}

void kvm_guest_forbid_writes(struct kvm_guest *guest, bool forbid)
{
	/* KVM changes this flag of a region only by deleting the region. */
	set_memory(guest, CALLER_REGION, KVM_GUEST_FREE, 0, 0);
	set_memory(guest, CALLER_REGION, KVM_GUEST_FREE,
		   KVM_GUEST_MEMORY - KVM_GUEST_FREE,
		   forbid ? KVM_MEM_READONLY : 0);
}

void kvm_guest_take_memory(struct kvm_guest *guest, bool take)
{
	set_memory(guest, CALLER_REGION, KVM_GUEST_FREE,
		   take ? 0 : KVM_GUEST_MEMORY - KVM_GUEST_FREE, 0);
}

int kvm_guest_kvm_fd(const struct kvm_guest *guest)
{
	return guest->kvm_fd;
}

int kvm_guest_fd(const struct kvm_guest *guest)
{
	return guest->fd;
}

int kvm_guest_vcpu_fd(const struct kvm_guest_vcpu *vcpu)
{
	return vcpu->fd;
}

static void run_until_exit(struct kvm_guest_vcpu *vcpu)
{
	while (ioctl(vcpu->fd, KVM_RUN, 0) < 0)
		if (errno != EINTR)
			err(EXIT_FAILURE, "KVM_RUN");
}

static void run_until_done(struct kvm_guest_vcpu *vcpu)
{
	const struct kvm_run *run = vcpu->run;

	for (;;) {
		run_until_exit(vcpu);
		if (run->exit_reason != KVM_EXIT_IO)
			errx(EXIT_FAILURE, "vCPU %d stopped: exit reason %u",
			     vcpu->index, run->exit_reason);
		if (run->io.port == DONE_PORT)
			return;
	}
}

/*
 * Makes ready to run one piece with *@regs, where RIP, RSP and RFLAGS are set here.
 *
 * KVM completes the previous piece's last port write in the next KVM_RUN, which
 * changes nothing, since it does that only while RIP is still at that write.
 */
static void prepare_piece(struct kvm_guest_vcpu *vcpu, enum piece piece,
			  struct kvm_regs *regs)
{
	regs->rip = CODE_GPA + piece * CODE_STRIDE - vcpu->code_base;
	regs->rsp = STACK_GPA(vcpu->index);
	regs->rflags = RFLAGS_FIXED | RFLAGS_IOPL_3;
	CHECKED_IOCTL(vcpu->fd, KVM_SET_REGS, regs);
}

static void run_piece(struct kvm_guest_vcpu *vcpu, enum piece piece,
		      struct kvm_regs *regs)
{
	prepare_piece(vcpu, piece, regs);
	run_until_done(vcpu);
	CHECKED_IOCTL(vcpu->fd, KVM_GET_REGS, regs);
}

uint64_t kvm_guest_hypercall(struct kvm_guest_vcpu *vcpu, uint64_t nr,
			     uint64_t rbx, uint64_t rcx, uint64_t rdx,
			     uint64_t rsi)
{
	struct kvm_regs regs = {
		.rax = nr, .rbx = rbx, .rcx = rcx, .rdx = rdx, .rsi = rsi,
		.rdi = 0xd1, .rbp = 0xb9, .r8 = 0x8, .r9 = 0x9, .r10 = 0x10,
		.r11 = 0x11, .r12 = 0x12, .r13 = 0x13, .r14 = 0x14, .r15 = 0x15,
	};
	struct kvm_regs before;
	uint64_t result;

	before = regs;
	run_piece(vcpu, vcpu->guest->hypercall, &regs);
	result = regs.rax;

	before.rax = regs.rax;
	before.rip = regs.rip;
	before.rsp = STACK_GPA(vcpu->index);
	before.rflags = RFLAGS_FIXED | RFLAGS_IOPL_3;
	if (memcmp(&before, &regs, sizeof(regs)))
		errx(EXIT_FAILURE, "a hypercall changed other registers");
	return result;
}

uint32_t kvm_guest_hypercall_exit(struct kvm_guest_vcpu *vcpu, uint64_t nr,
				  uint64_t rbx, uint64_t rcx, uint64_t rdx,
				  uint64_t rsi, uint64_t *result)
{
	struct kvm_regs regs = {
		.rax = nr, .rbx = rbx, .rcx = rcx, .rdx = rdx, .rsi = rsi,
	};
	uint32_t reason;

	prepare_piece(vcpu, vcpu->guest->hypercall, &regs);
	run_until_exit(vcpu);
	reason = vcpu->run->exit_reason;
	if (reason == KVM_EXIT_XEN)
		vcpu->run->xen.u.hcall.result = 0;
	if (reason == KVM_EXIT_XEN || reason == KVM_EXIT_HYPERCALL)
		run_until_done(vcpu);
	CHECKED_IOCTL(vcpu->fd, KVM_GET_REGS, &regs);
	*result = regs.rax;
	return reason;
}

struct kvm_guest_cpuid kvm_guest_cpuid(struct kvm_guest_vcpu *vcpu,
				       uint32_t leaf, uint32_t subleaf)
{
	struct kvm_regs regs = { .rax = leaf, .rcx = subleaf };

	run_piece(vcpu, PIECE_CPUID, &regs);
	return (struct kvm_guest_cpuid){
		.eax = regs.rax, .ebx = regs.rbx, .ecx = regs.rcx,
		.edx = regs.rdx,
	};
}

void kvm_guest_port_writes(struct kvm_guest_vcpu *vcpu, uint16_t port,
			   int size, uint32_t count)
{
	struct kvm_regs regs = { .rcx = count, .rdx = port };

	if (!count)
		return;
	switch (size) {
	case 1:
		run_piece(vcpu, PIECE_OUT_BYTE, &regs);
		break;
	case 2:
		run_piece(vcpu, PIECE_OUT_WORD, &regs);
		break;
	case 4:
		run_piece(vcpu, PIECE_OUT_LONG, &regs);
		break;
	default:
		errx(EXIT_FAILURE, "no port write of %d bytes", size);
	}
}

void kvm_guest_port_string(struct kvm_guest_vcpu *vcpu, uint16_t port,
			   uint32_t count)
{
	struct kvm_regs regs = {
		.rcx = count, .rdx = port, .rsi = STRING_GPA,
	};

	if (count > KVM_GUEST_FREE - STRING_GPA)
		errx(EXIT_FAILURE, "a string of %u elements is too long",
		     count);
	run_piece(vcpu, PIECE_OUT_STRING, &regs);
}

void kvm_guest_spin(struct kvm_guest_vcpu *vcpu, uint64_t iterations)
{
	struct kvm_regs regs = { .rcx = iterations };

	if (iterations)
		run_piece(vcpu, PIECE_SPIN, &regs);
}
