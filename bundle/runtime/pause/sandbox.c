/*
 * sandbox makes the namespaces of a pod and is then their first process. The shim
 * starts it for each pod, instead of a container that would do nothing else.
 *
 * It reads what to do from ORDERS and answers on ANSWERS, see package holder. It
 * joins the network and the user namespace that are there already, whose files it
 * inherits, and makes a child in the other namespaces; the child is the shim's, too.
 * When the shim has written down which process that is, has set the hostname and the
 * like, and says so, the child gives up whatever it had of the machine (its file
 * system, its privileges, nearly all of the kernel's calls), and holds the namespaces.
 * Should the shim die before, both end.
 *
 * It runs as root, so it reads numbers only: no text of a pod comes here.
 *
 * Build: cc @cflags -o sandbox sandbox.c     (linux, amd64 or arm64)
 */

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "hold.h"

#define ORDERS 3
#define ANSWERS 4
#define PROGRAM 5 /* the file of this program */
#define NETWORK 6 /* the file of a network namespace, if there is one to join */
#define USER 7 /* the file of a user namespace, if there is one to join */
#define MNT_DETACH 2
#define EINVAL 22

#define MADE (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
#define JOINED (CLONE_NEWNET | CLONE_NEWUSER)

/* What the shim sends. */
struct order {
	unsigned made; /* namespaces, as clone takes them */
	unsigned joined; /* namespaces, as setns takes them */
	unsigned uid, gid;
};

/* What the shim is told. */
struct answer {
	int error; /* of the step, 0 if all is well */
	int pid; /* of the child */
	char step[120];
};

static struct answer answer;

static void send_answer(void)
{
	call3(__NR_write, ANSWERS, &answer, sizeof(answer));
}

__attribute__((noreturn)) static void leave(int code)
{
	for (;;)
		call1(__NR_exit_group, code);
}

/* must ends the process if a call has failed, and says which step that was. */
static long must(long result, const char *step)
{
	if (result >= 0)
		return result;
	answer.error = (int)-result;
	for (unsigned i = 0; i < sizeof(answer.step) - 1 && step[i]; i++)
		answer.step[i] = step[i];
	send_answer();
	leave(1);
}

/* receive fills a buffer; without a shim there is nothing to be done any more. */
static void receive(char *buffer, unsigned length)
{
	for (unsigned have = 0; have < length;) {
		long n = call3(__NR_read, ORDERS, buffer + have, length - have);
		if (n <= 0)
			leave(1);
		have += (unsigned)n;
	}
}

/* Without a mount namespace of its own, the child would take the machine's file
 * systems away; with an ID of -1 it would stay root. */
static void check(const struct order *o)
{
	if (o->made & ~MADE || !(o->made & CLONE_NEWNS) || o->joined & ~JOINED || o->uid == ~0U || o->gid == ~0U)
		must(-EINVAL, "read the orders");
}

static void join(const struct order *o, int file, unsigned kind, const char *step)
{
	if (o->joined & kind)
		must(call2(__NR_setns, file, kind), step);
	call1(__NR_close, file);
}

/* All that the user namespace is to own is made by its root. */
static void become_root(void)
{
	const char *step = "become root of the user namespace";

	must(call2(__NR_setgroups, 0, 0), step);
	must(call3(__NR_setresgid, 0, 0, 0), step);
	must(call3(__NR_setresuid, 0, 0, 0), step);
}

/* An empty file system is the only one that is left. It is mounted on a folder that
 * every machine has. */
static void leave_file_systems(void)
{
	must(call5(__NR_mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0), "make the mounts private");
	must(call5(__NR_mount, "sandbox", "/proc", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,nr_inodes=2,mode=555"),
	     "mount an empty file system");
	must(call1(__NR_chdir, "/proc"), "go to the empty file system");
	must(call2(__NR_pivot_root, ".", "."), "make the empty file system the root");
	must(call2(__NR_umount2, ".", MNT_DETACH), "unmount the machine's file systems");
	must(call1(__NR_chdir, "/"), "go to the root");
}

static void drop_privileges(const struct order *o)
{
	struct __user_cap_header_struct version = {_LINUX_CAPABILITY_VERSION_3, 0};
	static const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];

	for (long capability = 0;; capability++) {
		long result = call5(__NR_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);
		if (result == -EINVAL)
			break; /* the kernel has no more */
		must(result, "drop a capability");
	}
	must(call2(__NR_setgroups, 0, 0), "drop the groups");
	must(call3(__NR_setresgid, o->gid, o->gid, o->gid), "set the group");
	must(call3(__NR_setresuid, o->uid, o->uid, o->uid), "set the user");
	must(call2(__NR_capset, &version, none), "drop the capabilities");
	must(call5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "forgo new privileges");
	must(call5(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0), "hide the memory");
	call5(__NR_prctl, PR_SET_NAME, "pause", 0, 0, 0);
}

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define ALLOW(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* What is left are the calls of hold, and those that tell the shim so. */
static void filter_calls(void)
{
	static const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(__NR_rt_sigtimedwait),
		ALLOW(__NR_rt_sigprocmask),
		ALLOW(__NR_wait4),
		ALLOW(__NR_exit_group),
		ALLOW(__NR_restart_syscall),
		ALLOW(__NR_write),
		ALLOW(__NR_close),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), (struct sock_filter *)filter};

	must(call3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "filter the kernel's calls");
}

__attribute__((noreturn)) static void be_first_process(const struct order *o)
{
	char go;

	receive(&go, 1);
	must(call0(__NR_setsid), "begin a session");
	leave_file_systems();
	drop_privileges(o);
	/* Before Linux 5.9 that does nothing; the shim hands on no other files. */
	call3(__NR_close_range, 0, ORDERS, 0);
	call3(__NR_close_range, ANSWERS + 1, ~0U, 0);
	filter_calls();
	block_signals();
	send_answer();
	call1(__NR_close, ANSWERS);
	hold();
}

/* Nothing is read from the initial stack, so the ABI's alignment of it suffices. */
__attribute__((noreturn, used)) void _start(void)
{
	struct order o;

	call1(__NR_close, PROGRAM);
	receive((char *)&o, sizeof(o));
	check(&o);
	join(&o, NETWORK, CLONE_NEWNET, "join the network namespace");
	join(&o, USER, CLONE_NEWUSER, "join the user namespace");
	if (o.joined & CLONE_NEWUSER)
		become_root();
	/* The child's parent is the shim. */
	long child = must(call5(__NR_clone, o.made | CLONE_PARENT | SIGCHLD, 0, 0, 0, 0), "make the namespaces");
	if (child == 0)
		be_first_process(&o);
	answer.pid = (int)child;
	send_answer();
	leave(0);
}
