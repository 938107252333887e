/*
 * pause holds the namespaces of a pod: process 1 of its sandbox, one for every
 * pod, so without a libc and a few KB small. It reaps the processes that a
 * shared PID namespace leaves behind, and ends with 0 on SIGTERM or SIGINT.
 *
 * The signals are blocked and waited for, never handled: the kernel drops a
 * signal for process 1 only when it is neither blocked nor handled.
 *
 * Build: cc @cflags -o pause pause.c     (linux, amd64 or arm64)
 */

#define SIGINT_BIT (1UL << (2 - 1))
#define SIGTERM_BIT (1UL << (15 - 1))
#define SIGCHLD_BIT (1UL << (17 - 1))
#define SIGCHLD 17
#define SIG_BLOCK 0
#define WNOHANG 1

#if defined(__x86_64__)

#define SYS_RT_SIGPROCMASK 14
#define SYS_RT_SIGTIMEDWAIT 128
#define SYS_WAIT4 61
#define SYS_EXIT_GROUP 231

static long syscall4(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

#elif defined(__aarch64__)

#define SYS_RT_SIGPROCMASK 135
#define SYS_RT_SIGTIMEDWAIT 137
#define SYS_WAIT4 260
#define SYS_EXIT_GROUP 94

static long syscall4(long number, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3)
			 : "memory");
	return x0;
}

#else
#error "pause is written for amd64 and arm64"
#endif

/* Nothing is read from the initial stack, so the ABI's alignment of it suffices. */
__attribute__((noreturn, used)) void _start(void)
{
	unsigned long signals = SIGINT_BIT | SIGTERM_BIT | SIGCHLD_BIT;

	syscall4(SYS_RT_SIGPROCMASK, SIG_BLOCK, (long)&signals, 0, sizeof(signals));
	for (;;) {
		/* Children that ended before the signals were blocked are reaped here too. */
		while (syscall4(SYS_WAIT4, -1, 0, WNOHANG, 0) > 0)
			;
		long number = syscall4(SYS_RT_SIGTIMEDWAIT, (long)&signals, 0, 0, sizeof(signals));
		/* A negative result is EINTR: the wait was disturbed, by a debugger say. */
		if (number > 0 && number != SIGCHLD)
			syscall4(SYS_EXIT_GROUP, 0, 0, 0, 0);
	}
}
