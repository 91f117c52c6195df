/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbols of libibverbs.so.1 that are not C functions of ours: jumps to the
 * system's library through rvc_slot[] (filled by passthru.c; until then, and
 * where the system has no such symbol, an rvc_absent_* function), jumps to
 * own functions whose name lies in several private version nodes, and the one
 * data symbol. A jump keeps all argument registers and the stack, so that it
 * serves every prototype, variadic ones included. The list is symbols.tab.
 */

#if defined(__x86_64__)

#define RVC_ENTRY	endbr64
#define RVC_TO_SLOT(idx)	jmp *(rvc_slot + 8 * (idx))(%rip)
#define RVC_TO(target)		jmp target

#elif defined(__aarch64__)

/* hint 34 is "bti c"; x16 is the linker's own scratch register. */
#define RVC_ENTRY	hint 34
#define RVC_TO_SLOT(idx)						\
	adrp x16, rvc_slot + 8 * (idx);					\
	ldr x16, [x16, :lo12:(rvc_slot + 8 * (idx))];			\
	br x16
#define RVC_TO(target)		b target

#else
#error "trampoline.S: no trampolines for this architecture"
#endif

#define RVC_BEGIN(label)						\
	.text;								\
	.balign 16;							\
	.globl label;							\
	.type label, %function;						\
label:									\
	RVC_ENTRY

#define RVC_JUMP(label, idx, absent)					\
	RVC_BEGIN(label);						\
	RVC_TO_SLOT(idx);						\
	.size label, . - label;						\
	.section .data.rvc_slot, "aw", %progbits;			\
	.hidden absent;							\
	.quad absent

#define RVC_STUB(label, target)						\
	.hidden target;							\
	RVC_BEGIN(label);						\
	RVC_TO(target);							\
	.size label, . - label

/* All versions of the flag are one byte, so that any writer reaches any reader. */
#define RVC_FLAG(label)							\
	.globl label;							\
	.type label, %object;						\
	.size label, 1;							\
	.set label, rvc_allow_disassociate_destroy

	.section .data.rvc_slot, "aw", %progbits
	.balign 8
	.globl rvc_slot
	.hidden rvc_slot
	.type rvc_slot, %object
rvc_slot:

	.bss
	.globl rvc_allow_disassociate_destroy
	.hidden rvc_allow_disassociate_destroy
	.type rvc_allow_disassociate_destroy, %object
	.size rvc_allow_disassociate_destroy, 1
rvc_allow_disassociate_destroy:
	.zero 1

#include "verbs-compat/symbols-asm.h"

	.section .data.rvc_slot, "aw", %progbits
	.size rvc_slot, . - rvc_slot

#if defined(__x86_64__) && defined(__CET__)
#include <cet.h>
#endif
	.section .note.GNU-stack, "", %progbits
