/* A 32-bit program without a C library, which needs no 32-bit packages to be built. Prints a word, exits with 9. With WAITS, it
 * prints "ready" and waits for input. */
static int call(int number, int a, const void *b, int c) {
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}

void _start(void) {
#ifdef WAITS
    char byte;
    call(4, 1, "ready\n", 6);
    call(3, 0, &byte, 1);
#else
    call(4, 1, "thirty-two\n", 11);
#endif
    call(1, 9, 0, 0);
    for (;;) {
    }
}
