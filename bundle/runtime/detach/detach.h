#include <stddef.h>

// answered is where a byte tells the waiting process that containerd has been answered; -1, if none waits.
int detach_answered(void);

// name makes the command line of the process, length bytes of strings that each end with a zero.
void detach_name(const char *line, size_t length);
