//go:build cgo && seccomp

#include "wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

// The filter that was found in the bundle. What joins and makes namespaces clones this process, memory included.
static char provided[BPF_MAXINSNS * sizeof(struct sock_filter)];
static size_t length;

// Before anything else: the process that becomes a container's begins in the root file system that lies in the
// bundle, and leaves it when it joins or makes namespaces.
__attribute__((constructor(101))) static void find(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "init") != 0)
		return;
	int file = open("../" FILTERS_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0)
		return;
	ssize_t got = read(file, provided, sizeof provided);
	close(file);
	if (got > 0 && got % sizeof(struct sock_filter) == 0)
		length = got;
}

static int take_to = -1, taken;

void filters_take(int file)
{
	take_to = file;
	taken = 0;
}

int filters_taken(void)
{
	take_to = -1;
	return taken;
}

int __real_seccomp_rule_add_array(scmp_filter_ctx, uint32_t, int, unsigned, const struct scmp_arg_cmp *);
int __real_seccomp_rule_add_exact_array(scmp_filter_ctx, uint32_t, int, unsigned, const struct scmp_arg_cmp *);
int __real_seccomp_export_bpf(const scmp_filter_ctx, int);

int __wrap_seccomp_rule_add_array(scmp_filter_ctx filter, uint32_t action, int call, unsigned count, const struct scmp_arg_cmp *conditions)
{
	return length ? 0 : __real_seccomp_rule_add_array(filter, action, call, count, conditions);
}

int __wrap_seccomp_rule_add_exact_array(scmp_filter_ctx filter, uint32_t action, int call, unsigned count, const struct scmp_arg_cmp *conditions)
{
	return length ? 0 : __real_seccomp_rule_add_exact_array(filter, action, call, count, conditions);
}

int __wrap_seccomp_export_bpf(const scmp_filter_ctx filter, int file)
{
	if (take_to >= 0) {
		taken = __real_seccomp_export_bpf(filter, take_to) == 0;
		return -ECANCELED;
	}
	if (!length)
		return __real_seccomp_export_bpf(filter, file);
	for (size_t done = 0; done < length;) {
		ssize_t written = write(file, provided + done, length - done);
		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0)
			done += written;
	}
	return 0;
}
