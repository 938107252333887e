/*
 * What the first process of a sandbox does for the rest of its life: it reaps the
 * processes that a shared PID namespace leaves behind, and ends with 0 on SIGTERM
 * or SIGINT.
 *
 * The signals are blocked and waited for, never handled: the kernel drops a
 * signal for process 1 only when it is neither blocked nor handled.
 */

#ifndef LIFEPOD_HOLD_H
#define LIFEPOD_HOLD_H

#include "kernel.h"

#define SIGINT_BIT (1UL << (2 - 1))
#define SIGTERM_BIT (1UL << (15 - 1))
#define SIGCHLD_BIT (1UL << (17 - 1))
#define SIGCHLD 17
#define SIG_BLOCK 0
#define WNOHANG 1

static const unsigned long signals = SIGINT_BIT | SIGTERM_BIT | SIGCHLD_BIT;

static void block_signals(void)
{
	call4(__NR_rt_sigprocmask, SIG_BLOCK, &signals, 0, sizeof(signals));
}

__attribute__((noreturn)) static void hold(void)
{
	for (;;) {
		/* Children that ended before the signals were blocked are reaped here too. */
		while (call4(__NR_wait4, -1, 0, WNOHANG, 0) > 0)
			;
		long number = call4(__NR_rt_sigtimedwait, &signals, 0, 0, sizeof(signals));
		/* A negative result is EINTR: the wait was disturbed, by a debugger say. */
		if (number > 0 && number != SIGCHLD)
			call1(__NR_exit_group, 0);
	}
}

#endif
