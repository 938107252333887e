// What Go would be: it does as the argument before the last says.
#include "../detach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *deed = argc > 2 ? argv[argc - 2] : "";
	static const char name[] = "program\0-id\0a";

	if (detach_answered() < 0) {
		printf("alone");
		return 0;
	}
	printf("%d\n", getpid());
	fflush(stdout);
	if (strcmp(deed, "fail") == 0)
		return 7;
	if (strcmp(deed, "answer") == 0) {
		detach_name(name, sizeof name);
		prctl(PR_SET_PDEATHSIG, 0);
		if (write(detach_answered(), "", 1) != 1)
			abort();
	}
	pause();
	return 0;
}
