// What is Go's in the shim: says that it began, and what its input is.
#include <stdio.h>

int main(void)
{
	fputs("began: ", stdout);
	for (int c = getchar(); c != EOF; c = getchar())
		putchar(c);
}
