/* Code made at run time, without unwinding information: it calls malloc 100 times, and a C function that does. */
#include "e2e.h"
#include <sys/mman.h>

SITE static void *ordinary(size_t size) { return checked(malloc(size)); }

typedef void *(*function)(size_t);

/* push %rbx; mov $target, %rax; call *%rax; pop %rbx; ret */
static function compile(char **code, function target) {
    char *start = *code, *p = start;
    *p++ = 0x53;
    *p++ = 0x48, *p++ = (char)0xb8;
    memcpy(p, &target, 8), p += 8;
    *p++ = (char)0xff, *p++ = (char)0xd0;
    *p++ = 0x5b;
    *p++ = (char)0xc3;
    *code = start + 64;
    return (function)start;
}

int main(void) {
    char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) return 1;
    const function direct = compile(&code, malloc), through_c = compile(&code, ordinary);
    void *blocks[200];
    for (int i = 0; i < 100; ++i) {
        blocks[2 * i] = checked(direct(10));
        blocks[2 * i + 1] = checked(through_c(20));
    }
    for (int i = 0; i < 200; ++i) free(blocks[i]); /* these have complete stacks */
    return 0;
}
