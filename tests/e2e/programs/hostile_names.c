// Functions whose names are an escape sequence that sets a terminal's title, SQL, and HTML.
#include <stdlib.h>

#define HOSTILE(function, name)                                                                                        \
    void *function(size_t size) __asm__("\"" name "\"");                                                               \
    __attribute__((noinline)) void *function(size_t size) {                                                            \
        void *block = malloc(size);                                                                                    \
        __asm__ volatile("" : : "r"(block) : "memory");                                                                \
        return block;                                                                                                  \
    }

HOSTILE(escape, "\033]0;owned\007")
HOSTILE(sql, "x';DROP/**/TABLE/**/sites;--?\\\\%s")
HOSTILE(html, "<img src=x onerror=alert(1)>&lt;")

int main(void) {
    free(escape(100));
    free(sql(100));
    free(html(100));
    return 0;
}
