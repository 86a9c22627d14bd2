/* Runs that can be counted: each adds a byte to the file in RUNS. What it does is in the arguments. */
#include "pages.h"
#include <fcntl.h>

static long count_runs(const char *path) {
    const int file = open(path, O_CREAT | O_APPEND | O_WRONLY, 0644);
    if (file < 0 || write(file, "x", 1) != 1) _exit(92);
    return lseek(file, 0, SEEK_END);
}

SITE static void pages(long number) {
    char *block = checked(malloc(number * PAGE));
    touch(block, number);
    free(block);
}

SITE static void calls(long number) {
    for (long i = 0; i < number; ++i) free(checked(malloc(16 + i % 256)));
}

SITE static void compute(long number) {
    volatile long sum = 0;
    for (long i = 0; i < number; ++i) sum += i;
}

/* The bytes of standard input, from where it stands. */
SITE static long input(void) {
    char bytes[256];
    long sum = 0;
    for (ssize_t got; (got = read(0, bytes, sizeof bytes)) > 0;) sum += got;
    return sum;
}

int main(int count, char **arguments) {
    const long run = count_runs(getenv("RUNS"));
    const char *what = count > 1 ? arguments[1] : "";
    const long number = count > 2 ? atol(arguments[2]) : 0;
    if (!strcmp(what, "pages")) pages(number);
    if (!strcmp(what, "calls")) calls(number);
    if (!strcmp(what, "compute")) compute(number);
    if (!strcmp(what, "input")) say_number("input", input());
    checked(malloc(10));
    say_number("this is run", run);
    if (!strcmp(what, "fail later") && run > 1) {
        if (write(2, "it was there before\n", 20) < 0) _exit(93);
        return 3;
    }
    return !strcmp(what, "exit") ? (int)number : 0;
}
