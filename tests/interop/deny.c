/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deny EPERM|ENOSYS COMMAND...: runs a command for which process_vm_readv and
 * process_vm_writev fail that way, as in a container with such a filter.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int deny(int err)
{
	const unsigned int answer = SECCOMP_RET_ERRNO | (unsigned int)err;
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0,
			 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(f) / sizeof(f[0]),
				   .filter = f };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

int main(int argc, char **argv)
{
	int err = argc < 3 ? 0 : !strcmp(argv[1], "EPERM") ? EPERM :
		  !strcmp(argv[1], "ENOSYS") ? ENOSYS : 0;

	if (!err) {
		fprintf(stderr, "usage: deny EPERM|ENOSYS COMMAND...\n");
		return 2;
	}
	if (deny(err)) {
		perror("deny: seccomp");
		return 2;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
