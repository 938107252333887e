/*
 * The kernel's calls without a libc, for programs of which many run at once.
 */

#ifndef LIFEPOD_KERNEL_H
#define LIFEPOD_KERNEL_H

#include <asm/unistd.h>

#if defined(__x86_64__)

static inline long call(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

#elif defined(__aarch64__)

static inline long call(long number, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}

#else
#error "written for amd64 and arm64"
#endif

#define call0(number) call(number, 0, 0, 0, 0, 0)
#define call1(number, a) call(number, (long)(a), 0, 0, 0, 0)
#define call2(number, a, b) call(number, (long)(a), (long)(b), 0, 0, 0)
#define call3(number, a, b, c) call(number, (long)(a), (long)(b), (long)(c), 0, 0)
#define call4(number, a, b, c, d) call(number, (long)(a), (long)(b), (long)(c), (long)(d), 0)
#define call5(number, a, b, c, d, e) call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

#endif
