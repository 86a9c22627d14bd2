/* 8 huge pages, asked for and touched, if the kernel gives them: says how much memory it has in such pages. With an
   argument, it asks past the C library, as allocators do. */
#include "pages.h"

#include <sys/syscall.h>

SITE static char *asks(int quietly) {
    char *memory = mapped(mmap(0, 9 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    char *first = (char *)(((unsigned long)memory + HUGE - 1) & ~(HUGE - 1));
    if (quietly) syscall(SYS_madvise, first, 8 * HUGE, MADV_HUGEPAGE);
    else madvise(first, 8 * HUGE, MADV_HUGEPAGE);
    return first;
}

int main(int count, char **arguments) {
    (void)arguments;
    char *memory = asks(count > 1);
    touch(memory, 8 * HUGE / PAGE);
    say_number("huge", huge_pages_at(memory));
    return 0;
}
