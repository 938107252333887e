#include <stdio.h>

int main(void) { return printf("began") < 0; }
