/*
 * pause holds the namespaces of a pod: process 1 of a sandbox that is a container,
 * one for every pod, so without a libc and a few KB small.
 *
 * Build: cc @cflags -o pause pause.c     (linux, amd64 or arm64)
 */

#include "hold.h"

/* Nothing is read from the initial stack, so the ABI's alignment of it suffices. */
__attribute__((noreturn, used)) void _start(void)
{
	block_signals();
	hold();
}
