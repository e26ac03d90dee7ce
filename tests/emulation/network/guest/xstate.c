/*
 * Preloaded into User-Mode-Linux where the processor has more register state than its kernel (6.1) reserves room for, as
 * those with AMX do. The host's kernel refuses PTRACE_SETREGSET for anything but the whole state, which UML then takes
 * for fatal ("ptrace set fp regs failed"). Here the part that UML knows is laid over the whole.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char whole[1 << 16];

static long set_state(pid_t pid, void *kind, struct iovec *part)
{
	struct iovec all = { whole, sizeof whole };

	if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, kind, &all) < 0)
		return -1;
	if (part->iov_len >= all.iov_len)
		return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, kind, part);
	memcpy(whole, part->iov_base, part->iov_len);
	return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, kind, &all);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list arguments;

	va_start(arguments, request);
	pid_t pid = va_arg(arguments, pid_t);
	void *address = va_arg(arguments, void *);
	void *data = va_arg(arguments, void *);
	va_end(arguments);

	if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE)
		return set_state(pid, address, data);
	if (request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER) {
		long peeked;
		long result = syscall(SYS_ptrace, request, pid, address, &peeked);

		if (result < 0)
			return -1;
		errno = 0;
		return peeked;
	}
	return syscall(SYS_ptrace, request, pid, address, data);
}
