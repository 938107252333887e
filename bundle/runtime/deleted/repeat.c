// Before Go begins: repeat the answer that the shim has left in the bundle, in which containerd
// executes this program to clean up. Without one, or with one that can't be, Go begins.
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void repeat(int argc, char **argv)
{
	char answer[128]; // three numbers and a time

	if (argc < 2 || strcmp(argv[argc - 1], "delete") != 0)
		return;
	int file = open("deleted", O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	ssize_t length = read(file, answer, sizeof answer);
	close(file);
	if (length > 0 && write(STDOUT_FILENO, answer, length) == length)
		_exit(0);
}
