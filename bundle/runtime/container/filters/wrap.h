// What is provided to libseccomp's callers, and what is taken from it.

// The file with a filter in a container's bundle.
#define FILTERS_FILE "seccomp.bpf"

// filters_take has the next program that libseccomp gives out written to a file, and its caller told
// that there is none, so that nobody loads it.
void filters_take(int file);

// filters_taken says whether that has come about; from then on programs are given out again.
int filters_taken(void);
