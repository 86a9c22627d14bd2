/* lib_own_mimalloc.c that tells the program of its function as it is loaded. */
#include "lib_own_mimalloc.c"

extern int (*volatile own_work)(int);

__attribute__((constructor)) static void registers(void) { own_work = lib_own_work; }
