// Before Go begins: answer what was answered about the same options on the same kernel. Without such an answer, or
// with one that is damaged, Go begins, with its input as it was.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

static unsigned char question[4 << 10], kept[64 << 10];

// hash is FNV-1a.
static uint64_t hash(const unsigned char *text, size_t length)
{
	uint64_t sum = 14695981039346656037u;

	for (size_t i = 0; i < length; i++)
		sum = (sum ^ text[i]) * 1099511628211u;
	return sum;
}

static ssize_t read_all(int file, unsigned char *text, size_t size)
{
	size_t length = 0;

	for (ssize_t got; length < size; length += got) {
		got = read(file, text + length, size - length);
		if (got < 0)
			return -1;
		if (got == 0)
			break;
	}
	return length;
}

// copy_input makes a file of the input, which can be read twice.
static int copy_input(void)
{
	unsigned char part[4 << 10];
	ssize_t got;
	int copy = memfd_create("input", MFD_CLOEXEC);

	if (copy < 0)
		return -1;
	while ((got = read(STDIN_FILENO, part, sizeof part)) > 0)
		if (write(copy, part, got) != got)
			break;
	lseek(copy, 0, SEEK_SET);
	int moved = dup2(copy, STDIN_FILENO);
	close(copy);
	return moved;
}

// open_answer opens the file of an answer, in the folder beside that of this program.
static int open_answer(uint64_t name)
{
	char path[PATH_MAX + 64];
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);

	for (int up = 0; up < 2 && length > 0; up++)
		while (length > 0 && path[--length] != '/')
			;
	if (length <= 0)
		return -1;
	sprintf(path + length, "/features/%016llx", (unsigned long long)name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

__attribute__((constructor)) static void tell(int argc, char **argv)
{
	struct utsname kernel;

	if (argc != 2 || strcmp(argv[1], "-info") != 0 || copy_input() < 0)
		return;
	ssize_t options = read_all(STDIN_FILENO, question, sizeof question - sizeof kernel.release);
	lseek(STDIN_FILENO, 0, SEEK_SET);
	if (options <= 0 || uname(&kernel) < 0)
		return;
	size_t asked = options + strlen(kernel.release);
	memcpy(question + options, kernel.release, strlen(kernel.release));
	int file = open_answer(hash(question, asked));
	if (file < 0)
		return;
	ssize_t length = read_all(file, kept, sizeof kept);
	close(file);

	// The hash of what follows, the question, and the answer.
	uint64_t sum;
	if (length <= (ssize_t)(sizeof sum + asked) || length == sizeof kept)
		return;
	memcpy(&sum, kept, sizeof sum);
	if (sum != hash(kept + sizeof sum, length - sizeof sum) || memcmp(kept + sizeof sum, question, asked) != 0)
		return;
	size_t answer = length - sizeof sum - asked;
	if (write(STDOUT_FILENO, kept + sizeof sum + asked, answer) == (ssize_t)answer)
		_exit(0);
}
